"""What tasks read, without Spark: entries as rows, and functions that read keys and windows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from millrace.common import Row, Time, Types
from millrace.common.errors import StateError
from millrace.common.functions import AggregateFunction
from millrace.common.types.logical.spark_type import spark_ddl
from millrace.datastream import KeyedProcessFunction, ProcessWindowFunction
from millrace.datastream.state import (
    MapStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from millrace.datastream.window import (
    CountTrigger,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from millrace.runtime.window_logic import WindowLogic
from millrace.state.checkpoint.snapshot import open_snapshot
from millrace.state.snapshot_reader import SnapshotReader
from millrace.state_processor import KeyedStateReaderFunction, WindowReaderFunction
from millrace.state_processor.reader_queries import (
    KeyedReaderQuery,
    WindowQuery,
    WindowReaderQuery,
)
from millrace.state_processor.state_queries import ConcatenatedQuery, EntriesQuery
from millrace.state_processor.state_rows import written_types
from millrace.state_processor.state_source import StateSource
from millrace.state_processor.window_entries import WindowContents, window_table
from millrace.state_processor.window_savepoint_reader import saved_operator
from millrace.testing import MiniJob


@dataclass(frozen=True)
class Money:
    amount: int
    currency: str = "EUR"


class Untyped:
    def __init__(self, amount: int) -> None:
        self.amount = amount


MONEY = ValueStateDescriptor("money", Types.of(Money))
LASTING = MapStateDescriptor("lasting", Types.STRING(), Types.LONG())
LASTING.enable_time_to_live(StateTtlConfig.new_builder(Time.hours(1)).build())


class Purse(KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.money = runtime_context.get_state(MONEY)
        self.lasting = runtime_context.get_map_state(LASTING)
        self.untyped = runtime_context.get_state(ValueStateDescriptor("untyped"))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        self.money.update(Money(value[1]))
        self.lasting.put(f"n{value[1]}", value[1])
        self.untyped.update(Untyped(value[1]))
        ctx.timer_service().register_event_time_timer(value[1])
        ctx.timer_service().register_processing_time_timer(10 + value[1])
        yield value


class Total(AggregateFunction[Any, list[int], int]):
    """Its accumulators are changed in place."""

    mergeable = True

    def create_accumulator(self) -> list[int]:
        return []

    def add(self, value: Any, accumulator: list[int]) -> list[int]:
        accumulator.append(value[1])
        return accumulator

    def get_result(self, accumulator: list[int]) -> int:
        return sum(accumulator)

    def merge(self, a: list[int], b: list[int]) -> list[int]:
        a.extend(b)
        return a


class Counting(ProcessWindowFunction):
    """Has state of each window and of the key."""

    def process(self, key: Any, context: Any, elements: Any) -> Iterator[Any]:
        context.window_state().get_state(ValueStateDescriptor("fired")).update(len(list(elements)))
        context.global_state().get_state(ValueStateDescriptor("ever")).update(key * 2)
        yield key

    def clear(self, context: Any) -> None:
        context.window_state().get_state(ValueStateDescriptor("fired")).clear()


SLIDING = SlidingEventTimeWindows.of(Time.seconds(10), Time.seconds(5))


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SnapshotReader]:
    directory: Path = tmp_path_factory.mktemp("checkpoints")
    with MiniJob(2, checkpoint_dir=str(directory)) as job:
        job.clock.set(7)
        source = job.source()
        keyed = source.stream.key_by(lambda value: value[0], key_type=Types.STRING())
        job.collect(keyed.process(Purse()).uid("purse"))
        job.collect(keyed.window(SLIDING).aggregate(Total()).uid("sliding"))
        tumbling = keyed.window(TumblingEventTimeWindows.of(Time.seconds(10)))
        job.collect(tumbling.trigger(CountTrigger.of(2)).process(Counting()).uid("counting"))
        for index, name in enumerate(["a", "b", "a"]):
            source.push((name, index + 1), timestamp=4_000 * index)
        job.process()
        (job_dir,) = directory.iterdir()
        yield SnapshotReader(open_snapshot(job_dir, trusted=True))


def rows(query: Any) -> list[Any]:
    return sorted((tuple(row) for task in range(query.tasks) for row in query.rows(task)), key=repr)


def keyed_query(reader: SnapshotReader, function: KeyedStateReaderFunction) -> KeyedReaderQuery:
    info = reader.state("purse", "money")
    source = StateSource.of(reader, info.stage, info.subtasks)
    return KeyedReaderQuery(source, saved_operator(reader, info, Types.STRING()), function)


def test_a_declared_class_is_a_row(reader: SnapshotReader) -> None:
    """Whether it can be imported or not; the snapshot says what its fields are."""
    info = reader.state("purse", "money")
    assert rows(EntriesQuery.of(reader, info)) == [
        ("a", Row(amount=3, currency="EUR")),
        ("b", Row(amount=2, currency="EUR")),
    ]
    assert {name: spark_ddl(kind) for name, kind in written_types(info).items()} == {
        "key": "string",
        "value": "struct<`amount`: bigint, `currency`: string>",
    }


def test_a_time_to_live(reader: SnapshotReader) -> None:
    """Is one more column."""
    query = EntriesQuery.of(reader, reader.state("purse", "lasting"))
    assert rows(query) == [("a", {"n1": 1, "n3": 3}, [7, 7]), ("b", {"n2": 2}, [7])]


def test_timers_of_both_clocks(reader: SnapshotReader) -> None:
    """One after the other."""
    names = ("@event-timers", "@processing-timers")
    parts = tuple(EntriesQuery.of(reader, reader.state("purse", name)) for name in names)
    query = ConcatenatedQuery(parts)
    assert query.tasks == 4
    assert [row[:3] for row in rows(query)] == [
        ("a", 1, "EVENT_TIME"),
        ("a", 11, "PROCESSING_TIME"),
        ("a", 13, "PROCESSING_TIME"),
        ("a", 3, "EVENT_TIME"),
        ("b", 12, "PROCESSING_TIME"),
        ("b", 2, "EVENT_TIME"),
    ]
    with pytest.raises(IndexError):
        query.rows(4)


class Report(KeyedStateReaderFunction):
    def open(self, runtime_context: Any) -> None:
        self.money = runtime_context.get_state(MONEY)
        self.lasting = runtime_context.get_map_state(LASTING)

    def read_key(self, key: Any, ctx: Any) -> Iterator[Any]:
        money = self.money.value()
        assert type(money) is Money
        timers = ctx.registered_event_time_timers(), ctx.registered_processing_time_timers()
        yield key, money.amount, sorted(self.lasting.keys()), *timers


def test_a_function_sees_what_it_declares(reader: SnapshotReader) -> None:
    """Values of its own classes, several states, timers; and what had not expired when the
    snapshot was made."""
    assert rows(keyed_query(reader, Report())) == [
        (("a", 3, ["n1", "n3"], [1, 3], [11, 13]),),
        (("b", 2, ["n2"], [2], [12]),),
    ]


def test_an_unknown_state_is_told(reader: SnapshotReader) -> None:
    """With those there are."""

    class Lost(Report):
        def open(self, runtime_context: Any) -> None:
            runtime_context.get_state(ValueStateDescriptor("lost"))

    with pytest.raises(StateError, match=r"no state 'lost' \(it has: lasting, money, untyped\)"):
        rows(keyed_query(reader, Lost()))


def sliding(reader: SnapshotReader, logic: WindowLogic, assigner: Any) -> list[Any]:
    info = window_table(reader, "sliding")
    source = StateSource.of(reader, info.stage, info.subtasks)
    return rows(WindowQuery(source, info, WindowContents(info.name, logic, assigner)))


def test_panes_become_windows(reader: SnapshotReader) -> None:
    """Each of all its panes, also when merging changes accumulators in place."""
    found = sliding(reader, WindowLogic(aggregate=Total()), SLIDING)
    assert [(row[0], row[1], row[4]) for row in found] == [
        ("a", -5_000, 1), ("a", 0, 4), ("a", 5_000, 3), ("b", -5_000, 2), ("b", 0, 2),
    ]  # fmt: skip
    with pytest.raises(StateError, match="define how the panes are merged"):
        sliding(reader, WindowLogic(), SLIDING)
    assert [row[4] for row in sliding(reader, WindowLogic(), None)] == [[1], [3], [2]]
    with pytest.raises(StateError, match="'purse' has no windows"):
        window_table(reader, "purse")


class Windows(WindowReaderFunction):
    def read_window(self, key: Any, context: Any, elements: list[Any]) -> Iterator[Any]:
        fired = context.window_state().get_state(ValueStateDescriptor("fired")).value()
        ever = context.global_state().get_state(ValueStateDescriptor("ever")).value()
        timers = context.registered_event_time_timers()
        assert context.registered_processing_time_timers() == []
        yield key, context.window().start, [n for _, n in elements], fired, ever, timers


def test_a_function_reads_windows(reader: SnapshotReader) -> None:
    """With their elements, timers and state."""
    info = window_table(reader, "counting")
    source = StateSource.of(reader, info.stage, info.subtasks)
    contents = WindowContents(info.name, WindowLogic())
    query = WindowReaderQuery(source, saved_operator(reader, info), Windows(), contents)
    assert rows(query) == [
        (("a", 0, [1, 3], 2, "aa", [9_999]),),
        (("b", 0, [2], None, None, [9_999]),),
    ]
