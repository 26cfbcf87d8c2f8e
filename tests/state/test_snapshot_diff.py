"""What differs between two snapshots, whatever the parallelism of each."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from millrace.common import Types
from millrace.common.config.configuration import Configuration
from millrace.datastream import BroadcastProcessFunction, KeyedProcessFunction
from millrace.datastream.functions import CheckpointedFunction, MapFunction
from millrace.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    ValueStateDescriptor,
)
from millrace.datastream.window import CountTrigger, TumblingEventTimeWindows
from millrace.state.checkpoint.snapshot import open_snapshot
from millrace.state.key_groups import key_group_of, subtask_of
from millrace.state.kinds.state_shape import StateShape
from millrace.state.snapshot_diff import DifferingEntry, StateDiff, diff_snapshots
from millrace.state.snapshot_reader import SnapshotReader
from millrace.state.table_id import TableId
from millrace.testing import MiniJob


class Totals(KeyedProcessFunction):
    """The sum per key; zero removes it. Also a list, and a timer per value."""

    def open(self, runtime_context: Any) -> None:
        self.total = runtime_context.get_state(ValueStateDescriptor("total", Types.LONG()))
        self.values = runtime_context.get_list_state(ListStateDescriptor("values", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        total = (self.total.value() or 0) + value[1]
        if total:
            self.total.update(total)
            self.values.add(value[1])
        else:
            self.total.clear()
            self.values.clear()
        ctx.timer_service().register_event_time_timer(1_000 + value[1])
        yield value

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield from ()


Records = list[tuple[str, int]]


def snapshot(
    directory: Path, records: Records, parallelism: int = 1, max_parallelism: int = 128
) -> SnapshotReader:
    """Snapshot of a job that has added up ``records``."""
    configuration = Configuration({"pipeline.max-parallelism": max_parallelism})
    with MiniJob(parallelism, checkpoint_dir=str(directory), configuration=configuration) as job:
        source = job.source("numbers")
        keyed = source.stream.key_by(lambda record: record[0], key_type=Types.STRING())
        job.collect(keyed.process(Totals()).name("totals").uid("totals"))
        for record in records:
            source.push(record, timestamp=1)
        job.process()
    return reader_of(directory)


def reader_of(directory: Path) -> SnapshotReader:
    (job_dir,) = directory.iterdir()
    return SnapshotReader(open_snapshot(job_dir, trusted=True))


def by_name(diffs: list[StateDiff]) -> dict[str, StateDiff]:
    return {diff.name: diff for diff in diffs}


BEFORE: Records = [("a", 1), ("b", 2), ("c", 3)]
AFTER: Records = [("a", 1), ("b", 2), ("b", 5), ("d", 4)]


@pytest.mark.parametrize(("before", "after"), [(1, 1), (2, 3), (4, 1)])
def test_added_changed_and_removed(tmp_path: Path, before: int, after: int) -> None:
    a = snapshot(tmp_path / "a", BEFORE, before)
    b = snapshot(tmp_path / "b", AFTER, after)
    diffs = by_name(diff_snapshots(a, b))
    assert set(diffs) == {"total", "values", "@event-timers", "@processing-timers"}
    total = diffs["total"]
    assert (total.added, total.changed, total.removed, total.same) == (1, 1, 1, 1)
    assert set(total.samples) == {
        DifferingEntry("added", "d", None, None, 4),
        DifferingEntry("changed", "b", None, 2, 7),
        DifferingEntry("removed", "c", None, 3, None),
    }
    assert (diffs["values"].changed, diffs["values"].same) == (1, 1)
    timers = diffs["@event-timers"]
    assert (timers.added, timers.changed, timers.removed, timers.same) == (2, 0, 1, 2)
    assert (total.uid, total.operator, total.before, total.after) == (
        "totals", "totals", True, True
    )  # fmt: skip


@given(
    st.lists(st.tuples(st.sampled_from("abcdefgh"), st.integers(-2, 2)), max_size=12),
    st.lists(st.tuples(st.sampled_from("abcdefgh"), st.integers(-2, 2)), max_size=12),
    st.integers(1, 4),
    st.integers(1, 4),
)
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
def test_the_same_as_of_two_dicts(
    tmp_path_factory: pytest.TempPathFactory, old: Records, new: Records, p: int, q: int
) -> None:
    a = snapshot(tmp_path_factory.mktemp("a"), old, p)
    b = snapshot(tmp_path_factory.mktemp("b"), new, q)
    before, after = sums(old), sums(new)
    total = by_name(diff_snapshots(a, b)).get("total") or StateDiff(
        TableId("", ""), "", StateShape.VALUE, False, False
    )
    assert total.added == len(after.keys() - before.keys())
    assert total.removed == len(before.keys() - after.keys())
    assert total.changed == sum(before[k] != after[k] for k in before.keys() & after.keys())


def sums(records: Records) -> dict[str, int]:
    totals: Counter[str] = Counter()
    for key, value in records:
        totals[key] += value
    return {key: total for key, total in totals.items() if total}


def test_other_numbers_of_key_groups(tmp_path: Path) -> None:
    a = snapshot(tmp_path / "a", BEFORE, 2, max_parallelism=128)
    b = snapshot(tmp_path / "b", AFTER, 3, max_parallelism=16)
    total = by_name(diff_snapshots(a, b))["total"]
    assert (total.added, total.changed, total.removed, total.same) == (1, 1, 1, 1)


def test_subtasks_at_the_same_version_are_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a = snapshot(tmp_path / "a", BEFORE, 2)
    monkeypatch.setattr(SnapshotReader, "restore", None)
    assert not any(diff.differs for diff in diff_snapshots(a, a))


def test_at_most_one_subtask_of_each_is_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is restored once, in the order of key groups."""
    a, b = snapshot(tmp_path / "a", BEFORE, 4), snapshot(tmp_path / "b", AFTER, 2)
    restored: list[tuple[str, int]] = []
    restore = SnapshotReader.restore

    def noted(self: SnapshotReader, stage: str, subtask: int) -> Any:
        restored.append(("a" if self is a else "b", subtask))
        return restore(self, stage, subtask)

    monkeypatch.setattr(SnapshotReader, "restore", noted)
    diff_snapshots(a, b)
    assert sorted(restored) == [("a", i) for i in range(4)] + [("b", i) for i in range(2)]


def test_so_many_samples_of_each_kind(tmp_path: Path) -> None:
    a = snapshot(tmp_path / "a", [("x", 1)])
    b = snapshot(tmp_path / "b", [(letter, 1) for letter in "abcdef"])
    total = by_name(diff_snapshots(a, b, samples=2))["total"]
    assert (total.added, total.removed) == (6, 1)
    assert Counter(sample.change for sample in total.samples) == {"added": 2, "removed": 1}


def test_a_state_that_only_one_has(tmp_path: Path) -> None:
    a = snapshot(tmp_path / "a", BEFORE)
    with MiniJob(checkpoint_dir=str(tmp_path / "b")) as job:
        source = job.source("numbers")
        job.collect(source.stream)
        source.push(("a", 1))
        job.process()
    b = reader_of(tmp_path / "b")
    gone, come = (by_name(diff_snapshots(*pair))["total"] for pair in ((a, b), (b, a)))
    assert (gone.before, gone.after, gone.removed) == (True, False, 3)
    assert (come.before, come.after, come.added) == (False, True, 3)


class Ungrateful:
    """Its ``==`` raises, and its data tells whether it differs."""

    def __init__(self, data: int) -> None:
        self.data = data

    def __eq__(self, other: object) -> bool:
        raise ValueError("do not compare me")

    __hash__ = None  # type: ignore[assignment]


class Keep(KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.kept = runtime_context.get_state(
            ValueStateDescriptor("kept", Types.PICKLED_BYTE_ARRAY())
        )

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        self.kept.update(value[1])
        yield value


def test_values_that_do_not_compare(tmp_path: Path) -> None:
    def kept(directory: Path, *values: Any) -> SnapshotReader:
        with MiniJob(checkpoint_dir=str(directory)) as job:
            source = job.source()
            job.collect(source.stream.key_by(0).process(Keep()).uid("keep"))
            source.push(*enumerate(values))
            job.process()
        return reader_of(directory)

    a = kept(tmp_path / "a", Ungrateful(1), Ungrateful(1), float("nan"), 1, (1,))
    b = kept(tmp_path / "b", Ungrateful(1), Ungrateful(2), float("nan"), True, (True,))
    state = by_name(diff_snapshots(a, b))["kept"]
    assert (state.same, state.changed) == (2, 3)


class Rules(BroadcastProcessFunction):
    STATE = MapStateDescriptor("rules", Types.STRING(), Types.LONG())

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield value

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        ctx.get_broadcast_state(self.STATE).put(*value)
        yield value


class Remember(MapFunction, CheckpointedFunction):
    """Operator state: what this subtask has seen."""

    def initialize_state(self, context: Any) -> None:
        store = context.get_operator_state_store()
        self.seen = store.get_list_state(ListStateDescriptor("seen", Types.LONG()))

    def snapshot_state(self, context: Any) -> None:
        pass

    def map(self, value: Any) -> Any:
        self.seen.add(value)
        return value


def test_broadcast_state_and_lists_of_operators(tmp_path: Path) -> None:
    """Broadcast state counts once, and the order of a list's elements does not count."""

    def made(directory: Path, rules: list[Any], values: list[int], p: int) -> SnapshotReader:
        with MiniJob(p, checkpoint_dir=str(directory)) as job:
            rule_source, source = job.source("rules"), job.source("values")
            rule_stream = rule_source.stream.broadcast(Rules.STATE)
            seen = source.stream.rebalance().map(Remember()).uid("remember")
            job.collect(seen.connect(rule_stream).process(Rules()).uid("rules"))
            rule_source.push(*rules)
            source.push(*values)
            job.process()
        return reader_of(directory)

    a = made(tmp_path / "a", [("x", 1), ("y", 2)], [1, 2, 3, 3], 1)
    b = made(tmp_path / "b", [("x", 1), ("y", 3)], [3, 4, 2, 1], 2)
    diffs = by_name(diff_snapshots(a, b))
    assert diffs["rules"].samples == [DifferingEntry("changed", "y", None, 2, 3)]
    assert diffs["rules"].same == 1
    seen = diffs["seen"]
    assert (seen.added, seen.removed, seen.same) == (1, 1, 3)


@pytest.mark.parametrize("subtask", [0, 1])
def test_a_list_of_operators_of_which_one_subtask_changed(tmp_path: Path, subtask: int) -> None:
    """Whichever: the other is not read for its keys."""
    directory = tmp_path / "job"
    with MiniJob(2, checkpoint_dir=str(directory)) as job:
        source = job.source()
        keyed = source.stream.key_by(lambda value: value, key_type=Types.LONG())
        job.collect(keyed.map(Remember()).uid("remember"))
        source.push(*range(10))
        job.process()
        (job_dir,) = directory.iterdir()
        shutil.copytree(job_dir, tmp_path / "a" / "job", ignore=shutil.ignore_patterns("control"))
        value = next(v for v in range(10) if subtask_of(key_group_of(v, 128), 2, 128) == subtask)
        source.push(value)
        job.process()
        diffs = by_name(diff_snapshots(reader_of(tmp_path / "a"), reader_of(directory)))
    assert (diffs["seen"].added, diffs["seen"].same) == (1, 10)


def test_contents_of_windows(tmp_path: Path) -> None:
    """An entry is known by its key and its window."""

    def windows(directory: Path, *events: tuple[str, int]) -> SnapshotReader:
        with MiniJob(checkpoint_dir=str(directory)) as job:
            source = job.source()
            window = source.stream.key_by(0).window(TumblingEventTimeWindows.of(1_000))
            counted = window.trigger(CountTrigger.of(100)).reduce(lambda a, b: (a[0], a[1] + b[1]))
            job.collect(counted.uid("windows"))
            for event in events:
                source.push(event, timestamp=event[1])
            job.process()
        return reader_of(directory)

    a = windows(tmp_path / "a", ("k", 1), ("k", 1_500))
    b = windows(tmp_path / "b", ("k", 1), ("k", 2), ("k", 2_500))
    contents = [d for d in diff_snapshots(a, b) if d.shape.is_windowed and d.differs]
    assert [(d.added, d.changed, d.removed) for d in contents] == [(1, 1, 1)] * 2
    assert {s.window.start for s in contents[0].samples} == {0, 1_000, 2_000}


def test_rolling_aggregates_count_as_data(tmp_path: Path) -> None:
    """What an operator keeps for itself only does when it is asked for."""

    def summed(directory: Path, *values: int) -> SnapshotReader:
        with MiniJob(checkpoint_dir=str(directory)) as job:
            source = job.source()
            job.collect(source.stream.key_by(lambda v: v % 2, key_type=Types.LONG()).sum())
            source.push(*values)
            job.process()
        return reader_of(directory)

    a, b = summed(tmp_path / "a", 1, 2), summed(tmp_path / "b", 1, 2, 3)
    [diff] = diff_snapshots(a, b)
    assert diff.samples == [DifferingEntry("changed", 1, None, 1, 4)]
    assert {d.shape for d in diff_snapshots(a, b, internal=True)} > {diff.shape}
