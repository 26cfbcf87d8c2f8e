"""Following the state of another job: every change once, whatever happens in between."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millrace.common import Configuration
from millrace.common.errors import (
    CheckpointCorruptError,
    JobDefinitionError,
    JobExecutionError,
)
from millrace.common.source import Boundedness, ReaderContext
from millrace.common.types import Row, RowKind
from millrace.connectors.state_changes import CopyComplete, StatePosition, StateUpdate
from millrace.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from millrace.datastream.state import MapStateDescriptor, ValueStateDescriptor
from millrace.engine.job_identity import job_id_of
from millrace.state.checkpoint.directory import complete_checkpoints, remove_checkpoint
from millrace.state.kinds.table_kind import TableKind
from millrace.state.table_id import TableId
from millrace.state.table_kinds import EVENT_TIMER_QUEUE
from millrace.state_processor.state_changes_source import StateChangesReader, StateChangesSource
from millrace.testing import CollectingSink, MiniJob, run_local
from millrace.testing.faults import Faults

INSERT, DELETE = RowKind.INSERT, RowKind.DELETE
BEFORE, AFTER = RowKind.UPDATE_BEFORE, RowKind.UPDATE_AFTER


CONTEXT = ReaderContext(0, 1, lambda: 0)


class Totals(KeyedProcessFunction):
    """Adds up per key; zero deletes the key."""

    def open(self, runtime_context):
        self.total = runtime_context.get_state(ValueStateDescriptor("total"))
        self.parts = runtime_context.get_map_state(MapStateDescriptor("parts"))

    def process_element(self, value, ctx):
        _, number = value
        if number:
            self.total.update((self.total.value() or 0) + number)
            self.parts.put(number, True)
        else:
            self.total.clear()
            self.parts.clear()


class Followed:
    """The job that is followed, one epoch and checkpoint at a time; may be stopped and resumed."""

    def __init__(self, directory: str, parallelism: int = 2, retained: int = 2) -> None:
        self.directory = directory
        self._settings = Configuration({"execution.checkpointing.num-retained": str(retained)})
        self.job_dir = str(Path(directory) / job_id_of("MiniJob"))
        self.parallelism = parallelism
        self.model: dict[Any, int] = {}
        self._pushed: list[tuple[Any, int]] = []
        self._job: MiniJob | None = None

    def start(self, resume: bool = False) -> None:
        self._job = MiniJob(
            self.parallelism,
            configuration=self._settings,
            checkpoint_dir=self.directory,
            resume=resume,
        )
        self._job.__enter__()
        self._source = self._job.source("numbers")
        stream = self._source.stream.key_by(0).process(Totals()).uid("totals").name("Totals")
        self._job.collect(stream)
        self._source.push(*self._pushed)

    def push(self, *records: tuple[Any, int]) -> None:
        self._pushed += records
        self._source.push(*records)
        self._job.process()
        for key, number in records:
            if number:
                self.model[key] = self.model.get(key, 0) + number
            else:
                self.model.pop(key, None)

    def stop(self) -> None:
        if self._job is not None:
            self._job.__exit__(None, None, None)
            self._job = None

    def restart(self, parallelism: int | None = None) -> None:
        self.stop()
        self.parallelism = parallelism or self.parallelism
        self.start(resume=True)


@pytest.fixture
def followed(tmp_path):
    job = Followed(str(tmp_path / "followed"))
    job.start()
    yield job
    job.stop()


def reader(job: Followed, position: StatePosition | None = None, **more) -> StateChangesReader:
    source = StateChangesSource(job.directory, "totals", "total", "MiniJob", **more)
    return source.create_split_reader(None, position, CONTEXT)


def epoch(reader: StateChangesReader, batch: int = 100) -> list[Any]:
    """What one epoch reads."""
    found: list[Any] = []
    while records := reader.read(batch).values:
        found += [record._replace(snapshot_id="") for record in records]
    return found


def all_of(reader: StateChangesReader) -> list[Any]:
    """What the reader has for as many epochs as it wants at once."""
    found = epoch(reader)
    while reader.next_wakeup(0) == 0:
        found += epoch(reader)
    return found


# -- the reader --------------------------------------------------------------------------------


def test_first_everything_then_what_changed(followed) -> None:
    followed.push(("a", 1), ("b", 2))
    following = reader(followed)
    first = sorted(epoch(following))
    assert first == [StateUpdate("a", 1, False, 1), StateUpdate("b", 2, False, 1)]
    assert epoch(following) == []
    followed.push(("a", 1))
    followed.push(("b", 0), ("c", 5))
    assert sorted(epoch(following)) == [
        StateUpdate("a", 2, False, 2),
        StateUpdate("b", None, True, 3),
        StateUpdate("c", 5, False, 3),
    ]


def test_records_have_the_time_of_their_checkpoint(followed) -> None:
    followed._job.clock.set(5_000)
    followed.push(("a", 1))
    assert reader(followed).read(10).timestamps == [followed._job.clock.now()]


def test_a_new_reader_goes_on_where_its_position_says(followed) -> None:
    """As long as that checkpoint is there."""
    followed.push(("a", 1), ("b", 2))
    first = reader(followed)
    epoch(first)
    assert first.position() == StatePosition(1, first.position().snapshot_id, True)
    followed.push(("a", 1))
    assert epoch(reader(followed, first.position())) == [StateUpdate("a", 2, False, 2)]


def test_without_its_checkpoint_a_new_reader_gives_everything_and_says_so(followed) -> None:
    """The end of everything comes in an epoch of its own, and so does what follows."""
    followed.push(("a", 1), ("b", 2))
    first = reader(followed)
    epoch(first)
    for _ in range(4):
        followed.push(("a", 1))
    following = reader(followed, first.position())
    assert sorted(epoch(following)) == [
        StateUpdate("a", 5, False, 5),
        StateUpdate("b", 2, False, 5),
    ]
    assert not following.position().complete
    followed.push(("b", 0))
    assert following.next_wakeup(7) == 7
    assert epoch(following) == [CopyComplete(5)]
    assert following.position().complete
    assert epoch(following) == [StateUpdate("b", None, True, 6)]
    assert following.next_wakeup(7) == 1_007


@pytest.mark.parametrize(("interval", "wakeup"), [(None, None), (1_000, 1_007)])
def test_a_loop_looks_often_unless_an_interval_is_set(
    tmp_path: Path, interval: int | None, wakeup: int | None
) -> None:
    """Directories on disks and mounts: a look at an object store takes a request."""
    context = ReaderContext(0, 1, lambda: 0, wake_up=lambda: None)
    source = StateChangesSource(tmp_path, "count", "clicks", poll_interval=interval)
    assert source.create_split_reader(None, None, context).next_wakeup(7) == wakeup
    elsewhere = StateChangesSource("s3://bucket/job", "count", "clicks", poll_interval=interval)
    assert elsewhere.create_split_reader(None, None, context).next_wakeup(7) == 1_007
    assert source.create_split_reader(None, None, CONTEXT).next_wakeup(7) == 1_007


def test_a_position_in_the_middle_counts_for_nothing(followed) -> None:
    followed.push(*((number, 1) for number in range(10)))
    first = reader(followed)
    assert len(first.read(4).values) == 4
    followed.push(("new", 1))
    following = reader(followed, first.position())
    assert {update.checkpoint for update in epoch(following)} == {1}
    assert epoch(following) == [CopyComplete(1)]
    assert epoch(following) == [StateUpdate("new", 1, False, 2)]


def test_a_position_in_the_middle_of_what_is_gone(followed) -> None:
    followed.push(*((number, 1) for number in range(10)))
    first = reader(followed)
    first.read(4)
    for _ in range(3):
        followed.push(("new", 1))
    following = reader(followed, first.position())
    assert len(epoch(following)) == 11
    assert epoch(following) == [CopyComplete(4)]


def test_the_same_number_of_another_history_is_another_checkpoint(followed) -> None:
    followed.push(("a", 1))
    first = reader(followed)
    epoch(first)
    position = StatePosition(1, "of another", True)
    assert all_of(reader(followed, position)) == [
        StateUpdate("a", 1, False, 1),
        CopyComplete(1),
    ]


def test_a_directory_that_was_emptied_is_followed_on(followed) -> None:
    for number in range(3):
        followed.push(("a", 1), ("b", number + 1))
    following = reader(followed)
    all_of(following)
    followed.stop()
    remove(followed.directory)
    again = Followed(followed.directory)
    again.start()
    again.push(("a", 9))
    found = sorted(all_of(following))
    again.stop()
    assert found == [StateUpdate("a", 9, False, 1), StateUpdate("b", None, True, 1)]


def test_a_directory_that_was_made_anew_up_to_the_same_number(followed) -> None:
    followed.push(("a", 1), ("b", 2))
    following = reader(followed)
    all_of(following)
    assert epoch(following) == []
    with made_anew(followed, ("a", 9)):
        assert sorted(all_of(following)) == [
            StateUpdate("a", 9, False, 1),
            StateUpdate("b", None, True, 1),
        ]
        assert epoch(following) == []


def remove(directory: str) -> None:
    """Remove a directory in which a run that has ended may still remove its own files."""

    def fail_unless_gone(_function: object, _path: str, error: Any) -> None:
        if not issubclass(error[0], FileNotFoundError):
            raise error[1]

    shutil.rmtree(directory, onerror=fail_unless_gone)


@contextmanager
def made_anew(followed: Followed, *records: tuple[Any, int]) -> Iterator[Followed]:
    """The same job from its beginning, with one checkpoint."""
    followed.stop()
    remove(followed.directory)
    again = Followed(followed.directory)
    again.start()
    again.push(*records)
    yield again
    again.stop()


def test_it_waits_for_a_job_that_has_not_begun(tmp_path) -> None:
    job = Followed(str(tmp_path))
    following = reader(job)
    assert epoch(following) == []
    assert following.position() is None
    job.start()
    job.push(("a", 1))
    assert epoch(following) == [StateUpdate("a", 1, False, 1)]
    job.stop()


def test_it_ends_with_the_job(followed) -> None:
    followed.push(("a", 1))
    following = reader(followed)
    epoch(following)
    assert not following.finished()
    followed._job.finish()
    assert epoch(following) == []
    assert following.finished()
    late = reader(followed, following.position())
    assert (epoch(late), late.finished()) == ([], True)


def test_bounded_is_what_there_is_now(followed) -> None:
    followed.push(("a", 1))
    table = reader(followed, bounded=True)
    assert epoch(table) == [StateUpdate("a", 1, False, 1)]
    assert table.finished()
    source = StateChangesSource(followed.directory, "totals", "total", bounded=True)
    assert source.boundedness is Boundedness.BOUNDED
    with pytest.raises(JobExecutionError, match="no complete checkpoint"):
        source.create_split_reader(None, None, CONTEXT).read(1)


def test_an_operator_is_found_by_its_name_too_or_the_others_are_listed(followed) -> None:
    followed.push(("a", 1))
    source = StateChangesSource(followed.job_dir, "Totals", "total")
    assert len(epoch(source.create_split_reader(None, None, CONTEXT))) == 1
    source = StateChangesSource(followed.job_dir, "nobody", "total")
    with pytest.raises(JobExecutionError, match=r"no operators 'nobody'.*Totals \(uid totals\)"):
        source.create_split_reader(None, None, CONTEXT).read(1)


def test_a_state_that_is_not_there_is_warned_of(followed, caplog) -> None:
    followed.push(("a", 1))
    source = StateChangesSource(followed.job_dir, "totals", "totl")
    assert epoch(source.create_split_reader(None, None, CONTEXT)) == []
    assert "state 'totl' of operator 'totals' is empty or missing" in caplog.text


def test_a_state_that_is_not_there_has_no_table(followed) -> None:
    """Bounded, nothing would be an answer; the other states are listed."""
    followed.push(("a", 1))
    source = StateChangesSource(followed.job_dir, "Totals", "totl", bounded=True)
    with pytest.raises(JobExecutionError, match=r"no keyed state 'totl'.*it has: parts, total"):
        source.create_split_reader(None, None, CONTEXT).read(1)


def test_an_empty_table(followed) -> None:
    followed.push(("a", 1), ("a", 0))
    table = reader(followed, bounded=True)
    assert epoch(table) == []
    assert table.finished()


def test_state_that_belongs_to_no_key_is_refused(followed) -> None:
    followed.push(("a", 1))
    source = StateChangesSource(followed.job_dir, "totals", "@event-timers")
    followed._source.push(("a", 1))
    following = source.create_split_reader(None, None, CONTEXT)
    following._table = "x"
    with pytest.raises(JobExecutionError, match="only keyed state can be followed"):
        following._kind(_Kind(EVENT_TIMER_QUEUE))


class _Kind:
    def __init__(self, kind: TableKind) -> None:
        self._kind = kind

    def kind(self, table: TableId) -> TableKind:
        return self._kind


@pytest.mark.parametrize(
    "arguments",
    [("", "total"), ("totals", "")],
)
def test_names_must_not_be_empty(arguments) -> None:
    with pytest.raises(JobDefinitionError):
        StateChangesSource("/data", *arguments)


def test_the_interval_must_be_positive() -> None:
    with pytest.raises(JobDefinitionError, match="poll interval must be positive"):
        StateChangesSource("/data", "a", "b", poll_interval=0)


# -- the stream --------------------------------------------------------------------------------


def replay(rows: list[Row]) -> dict[int, dict[Any, Any]]:
    """What the changes make, per checkpoint (and at 0 in the end); checks that each fits what was
    there. Changes of different keys come from several subtasks, in no order."""
    table: dict[Any, Any] = {}
    tables: dict[int, dict[Any, Any]] = {0: table}
    for row in sorted(rows, key=lambda row: row.checkpoint):
        kind, key, value = row.get_row_kind(), row.key, row.value
        if kind is INSERT:
            assert key not in table, row
            table[key] = value
        elif kind is BEFORE:
            assert table[key] == value, row
        elif kind is AFTER:
            assert table[key] != value, row
            table[key] = value
        else:
            assert table.pop(key) == value, row
        tables[row.checkpoint] = dict(table)
    return tables


class Follower:
    """The job that follows; may be stopped and resumed."""

    def __init__(self, followed: Followed, directory: str, state: str = "total", **more) -> None:
        self._followed, self._directory, self._more = followed, directory, more
        self._state = state
        self.rows: list[Row] = []
        self._job: MiniJob | None = None

    def start(self, resume: bool = False) -> None:
        self._job = MiniJob(2, checkpoint_dir=self._directory, resume=resume, **self._more)
        self._job.__enter__()
        changes = self._job.env.state_changes(
            self._followed.directory, "totals", self._state, "MiniJob"
        )
        self._sink: CollectingSink[Row] = self._job.collect(changes)

    def look(self, epochs: int = 4) -> None:
        self._job.process(epochs)

    def stop(self) -> None:
        if self._job is not None:
            self._job.__exit__(None, None, None)
            self.rows += self._sink.values()
            self._job = None

    def restart(self) -> None:
        self.stop()
        self.start(resume=True)


def test_a_table_as_a_stream(followed, tmp_path) -> None:
    follower = Follower(followed, str(tmp_path / "follower"))
    follower.start()
    followed.push(("a", 1))
    follower.look()
    followed.push(("a", 2))
    follower.look()
    followed.push(("a", 0))
    follower.look()
    follower.stop()
    assert [(row.get_row_kind(), row.key, row.value, row.checkpoint) for row in follower.rows] == [
        (INSERT, "a", 1, 1),
        (BEFORE, "a", 1, 2),
        (AFTER, "a", 3, 2),
        (DELETE, "a", 3, 3),
    ]


def test_map_state_is_given_as_a_dict_per_key(followed, tmp_path) -> None:
    follower = Follower(followed, str(tmp_path / "follower"), "parts")
    follower.start()
    followed.push(("a", 1), ("a", 2))
    follower.look()
    follower.stop()
    (row,) = follower.rows
    assert row.value == {1: True, 2: True}


def test_what_vanished_while_nobody_looked_is_deleted(followed, tmp_path) -> None:
    """Even when the checkpoint from which to go on is gone."""
    follower = Follower(followed, str(tmp_path / "follower"))
    follower.start()
    followed.push(("a", 1), ("b", 1))
    follower.look()
    follower.stop()
    followed.push(("a", 0), ("c", 1))
    for _ in range(4):
        followed.push(("b", 1))
    follower.start(resume=True)
    follower.look(6)
    follower.stop()
    assert replay(follower.rows)[6] == followed.model == {"b": 5, "c": 1}


@pytest.mark.parametrize("stopped", [True, False])
def test_keys_of_another_history_with_the_same_number_are_deleted(
    followed, tmp_path, stopped
) -> None:
    """Whether somebody was looking or not."""
    follower = Follower(followed, str(tmp_path / "follower"))
    follower.start()
    followed.push(("a", 1), ("b", 2))
    follower.look()
    if stopped:
        follower.stop()
    with made_anew(followed, ("b", 7), ("c", 1)):
        if stopped:
            follower.start(resume=True)
        for _ in range(6):
            follower._job.advance(1_000)
        follower.stop()
    assert final(follower.rows) == {"b": 7, "c": 1}


def final(rows: list[Row]) -> dict[Any, Any]:
    """What the changes make, which are not in the order of their checkpoints' numbers."""
    table: dict[Any, Any] = {}
    for row in rows:
        if row.get_row_kind() in (BEFORE, DELETE):
            assert table.pop(row.key) == row.value
        else:
            table[row.key] = row.value
    return table


STEPS = st.lists(
    st.one_of(
        st.tuples(
            st.just("push"),
            st.lists(st.tuples(st.integers(0, 6), st.integers(0, 3)), min_size=1, max_size=5),
        ),
        st.tuples(st.just("look"), st.integers(1, 4)),
        st.tuples(st.just("restart")),
        st.tuples(st.just("rescale"), st.integers(1, 3)),
        st.tuples(st.just("resume")),
    ),
    min_size=4,
    max_size=14,
)


@settings(max_examples=12, deadline=None)
@given(STEPS, st.integers(0, 99), st.sampled_from([2, 100]))
def test_replaying_the_changes_gives_the_state_at_every_checkpoint(steps, seed, retained) -> None:
    """While both jobs are stopped and resumed, the followed one with other parallelism, and
    workers of the follower come, go and lose what they did. Where checkpoints go away before they
    have been read to their end, in the end."""
    faults = Faults(lost_epochs=0.1, lost_workers=0.1, repeated_tasks=0.1, lost_buffers=0.05)
    with tempfile.TemporaryDirectory() as directory:
        followed = Followed(f"{directory}/followed", retained=retained)
        follower = Follower(followed, f"{directory}/follower", workers=2, seed=seed, faults=faults)
        followed.start()
        follower.start()
        models: dict[int, dict[Any, int]] = {}
        try:
            for step, *arguments in [*steps, ("push", [(0, 1)]), ("look", 12)]:
                if step == "push":
                    followed.push(*arguments[0])
                    models[complete_checkpoints(followed.job_dir)[-1]] = dict(followed.model)
                elif step == "look":
                    follower.look(*arguments)
                elif step == "restart":
                    follower.restart()
                elif step == "rescale":
                    followed.restart(*arguments)
                else:
                    followed.restart()
        finally:
            follower.stop()
            followed.stop()
        tables = replay(follower.rows)
        assert tables.pop(0) == followed.model
        if retained > len(models):
            assert tables == {number: models[number] for number in tables}


def test_the_environment_takes_the_directory_of_the_job(followed) -> None:
    followed.push(("a", 1), ("b", 2))
    followed.stop()
    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment()
        table = env.state_changes(followed.job_dir, "totals", "total", bounded=True)
        found = {row.key: row.value for row in table.execute_and_collect()}
    assert found == followed.model


def test_a_damaged_checkpoint_is_named(followed) -> None:
    followed.push(("a", 1))
    followed.stop()
    (file,) = (Path(followed.job_dir) / "shared").glob("*.deltas")
    file.write_bytes(b"nonsense")
    with pytest.raises(Exception, match=file.name):
        reader(followed).read(1)


def test_a_checkpoint_that_goes_away_while_it_is_read_is_skipped(followed, monkeypatch) -> None:
    followed.push(("a", 1))
    following = reader(followed)
    epoch(following)
    followed.push(("a", 1))
    followed.push(("a", 1))
    advance = StateChangesReader._advance

    def racing(self, manifest):
        if manifest.checkpoint == 2:
            remove_checkpoint(followed.job_dir, 2)
            raise CheckpointCorruptError("a file", "it is missing")
        advance(self, manifest)

    monkeypatch.setattr(StateChangesReader, "_advance", racing)
    assert epoch(following) == [StateUpdate("a", 3, False, 3)]


class Odd:
    """A value of a type that only pickle knows."""


class Oddities(KeyedProcessFunction):
    def open(self, runtime_context):
        self.total = runtime_context.get_state(ValueStateDescriptor("total"))

    def process_element(self, value, ctx):
        self.total.update(Odd())
