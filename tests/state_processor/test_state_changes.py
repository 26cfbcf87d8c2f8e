"""What happened to a state between two snapshots."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from millrace.common import Types
from millrace.common.errors import CheckpointError, StateError
from millrace.datastream import KeyedProcessFunction
from millrace.datastream.state import ValueStateDescriptor
from millrace.datastream.window import TumblingEventTimeWindows
from millrace.state.checkpoint.snapshot import open_snapshot
from millrace.state.snapshot_reader import SnapshotReader
from millrace.state_processor import SavepointReader
from millrace.state_processor.state_changes import ChangesQuery
from millrace.testing import MiniJob


class Last(KeyedProcessFunction):
    """The last number of each key; zero deletes."""

    def open(self, runtime_context: Any) -> None:
        self.last = runtime_context.get_state(ValueStateDescriptor("last", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> None:
        self.last.update(value[1] or None)


NUMBERS = [(f"k{number}", number + 1) for number in range(10)]
LATER = [("k0", 0), ("k1", 99), ("new", 5)]
CHANGES = [
    ("+I", "new", 5),
    ("+U", "k1", 99),
    ("-D", "k0", 1),
    ("-U", "k1", 2),
]


@pytest.fixture(scope="module")
def snapshots(tmp_path_factory) -> tuple[Path, Path]:
    """Before and after; in between the job was resumed with another parallelism."""
    base = tmp_path_factory.mktemp("changes")
    pushed: list[Any] = []
    for step, (parallelism, records) in enumerate([(2, NUMBERS), (3, LATER)]):
        with MiniJob(parallelism, checkpoint_dir=str(base / "job"), resume=step > 0) as job:
            source = job.source()
            pushed += records
            source.push(*pushed, timestamp=1)
            job.collect(source.stream.key_by(0).process(Last()).uid("last").name("Last"))
            windows = source.stream.key_by(0).window(TumblingEventTimeWindows.of(1_000))
            job.collect(windows.reduce(lambda a, b: b).uid("windows"))
            job.process(2)
        (job_dir,) = (base / "job").iterdir()
        # what is in control comes and goes with the job
        ignored = shutil.ignore_patterns("control")
        shutil.copytree(job_dir, base / f"copy-{step}", ignore=ignored)
    return base / "copy-0", base / "copy-1"


def reader(path: Path) -> SnapshotReader:
    return SnapshotReader(open_snapshot(path, trusted=True))


def changes(before: Path, after: Path) -> list[tuple[Any, ...]]:
    query = ChangesQuery.of(reader(before), reader(after), "last", "last")
    rows = [row for task in range(query.tasks) for row in query.rows(task)]
    assert {row[3] for row in rows} <= {reader(after).snapshot.manifest.checkpoint}
    return sorted(tuple(row[:3]) for row in rows)


def test_changes_between_snapshots_of_other_parallelisms(snapshots) -> None:
    before, after = snapshots
    assert changes(before, after) == CHANGES


def test_and_back(snapshots) -> None:
    before, after = snapshots
    assert changes(after, before) == [
        ("+I", "k0", 1), ("+U", "k1", 2), ("-D", "new", 5), ("-U", "k1", 99),
    ]  # fmt: skip


def test_nothing_happened(snapshots) -> None:
    assert changes(snapshots[0], snapshots[0]) == []


def test_a_former_value_comes_right_before_the_new_one(snapshots) -> None:
    query = ChangesQuery.of(reader(snapshots[0]), reader(snapshots[1]), "Last", "last")
    rows = [row for task in range(query.tasks) for row in query.rows(task)]
    kinds = [row[0] for row in rows]
    assert kinds[kinds.index("-U") + 1] == "+U"


def test_what_cannot_be_compared(snapshots) -> None:
    before, after = map(reader, snapshots)
    with pytest.raises(StateError, match="operator 'last' has no state 'lost'"):
        ChangesQuery.of(before, after, "last", "lost")
    (window_state,) = (i.name for i in after.states() if i.uid == "windows" and i.shape.is_windowed)
    with pytest.raises(StateError, match="is window-value state; changes can be read of value"):
        ChangesQuery.of(before, after, "windows", window_state)


def test_another_number_of_key_groups(snapshots) -> None:
    before, after = map(reader, snapshots)
    object.__setattr__(before.snapshot.manifest, "max_parallelism", 7)
    with pytest.raises(StateError, match="max parallelism 7 and 128"):
        ChangesQuery.of(before, after, "last", "last")


class Trap:
    """Tells when it is unpickled."""

    sprung = False

    def __reduce__(self) -> Any:
        return _spring, ()


def _spring() -> Trap:
    Trap.sprung = True
    return Trap()


class Untyped(Last):
    """What it keeps is pickled."""

    def open(self, runtime_context: Any) -> None:
        self.last = runtime_context.get_state(ValueStateDescriptor("last"))


def test_pickles_of_the_other_snapshot_are_refused_too(snapshots, tmp_path) -> None:
    with MiniJob(checkpoint_dir=str(tmp_path)) as job:
        source = job.source()
        job.collect(source.stream.key_by(0).process(Untyped()).uid("last"))
        source.push(("k0", Trap()))
        job.process()
    (since,) = tmp_path.iterdir()
    Trap.sprung = False
    with pytest.raises(CheckpointError, match="allow-pickle"):
        SavepointReader.read(None, since)
    assert not Trap.sprung


@pytest.mark.spark
def test_as_a_dataframe(spark, snapshots) -> None:
    frame = SavepointReader.read(spark, snapshots[1], pickle_allowed=True).read_state_changes(
        snapshots[0], "last", "last"
    )
    assert frame.columns == ["kind", "key", "value", "checkpoint"]
    assert sorted(tuple(row)[:3] for row in frame.collect()) == CHANGES
