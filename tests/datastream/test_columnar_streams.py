"""Programs on columns give what the same programs on rows give."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millrace.common import Duration, OutputTag, Row, RowKind, Time, WatermarkStrategy
from millrace.datastream import (
    DataStream,
    KeyedProcessFunction,
    MapBatchFunction,
    ProcessFunction,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
)
from millrace.datastream.state import ValueStateDescriptor
from millrace.datastream.window import TumblingEventTimeWindows
from millrace.testing import Faults, run_local

EARLY = OutputTag("early")
FAULTS = st.sampled_from([Faults(), Faults(0.2, 0.3, 0.2, 0.1)])
RECORDS = st.lists(
    st.fixed_dictionaries(
        {"key": st.integers(-3, 3), "name": st.sampled_from(["a", "b"]), "at": st.integers(0, 90)}
    ),
    max_size=40,
)
SPREAD = {
    "forward": lambda s: s.forward(),
    "rebalance": lambda s: s.rebalance(),
    "rescale": lambda s: s.rescale(),
    "shuffle": lambda s: s.shuffle(),
    "global_": lambda s: s.global_(),
    "broadcast": lambda s: s.broadcast(),
    "partition_custom": lambda s: s.partition_custom(lambda key, n: key % n, "key"),
    "key_by a function": lambda s: s.key_by(lambda record: record["key"]),
    "key_by a name": lambda s: s.key_by("key"),
    "key_by names": lambda s: s.key_by(["name", "key"]),
}


def same(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch


def timed(env: StreamExecutionEnvironment, records: list[Any]) -> DataStream[Any]:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(100))
    assigned = strategy.with_timestamp_assigner(lambda record, time: record["at"])
    return env.from_collection(records).assign_timestamps_and_watermarks(assigned)


class Sort(ProcessFunction):
    """Records before 30 to the side."""

    def process_element(self, value: Any, ctx: Any) -> Any:
        found = (tuple(sorted(value.items())), ctx.timestamp())
        yield (EARLY, found) if ctx.timestamp() < 30 else found


class Where(MapBatchFunction):
    """Adds the number of the subtask."""

    def open(self, runtime_context: Any) -> None:
        self.subtask = runtime_context.get_index_of_this_subtask()

    def map_batch(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        return batch.append_column("subtask", pa.array([self.subtask] * len(batch)))


class Size(ProcessWindowFunction):
    """How many a window has."""

    def process(self, key: Any, context: Any, elements: Any) -> Any:
        yield key, context.window().start, len(list(elements))


class Count(KeyedProcessFunction):
    """How many there have been of the key."""

    def open(self, runtime_context: Any) -> None:
        self.state = runtime_context.get_state(ValueStateDescriptor("count"))

    def process_element(self, value: Any, ctx: Any) -> Any:
        count = (self.state.value() or 0) + 1
        self.state.update(count)
        yield value["key"], count, ctx.timer_service().current_watermark() < ctx.timestamp()


@pytest.mark.parametrize("way", SPREAD)
@settings(max_examples=5, deadline=None)
@given(RECORDS, st.integers(0, 99), FAULTS)
def test_records_event_times_and_side_outputs(way, records, seed, faults) -> None:
    found = []
    for columnar in (False, True):
        with run_local(2, seed, faults=faults, epoch_records=7, buffer_records=2):
            env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
            stream = timed(env, records).rebalance().map(dict)
            stream = stream.map_batches(same) if columnar else stream
            # nothing is chained behind the exchange's source
            main = SPREAD[way](stream).map(dict).start_new_chain().process(Sort())
            early = main.get_side_output(EARLY).map(lambda pair: ("early", *pair))
            found.append(Counter(main.union(early).execute_and_collect()))
    assert found[0] == found[1]
    assert sum(found[0].values()) == len(records) * (2 if way == "broadcast" else 1)


@settings(max_examples=10, deadline=None)
@given(RECORDS, RECORDS, st.integers(0, 99), FAULTS, st.sampled_from([1, 3]))
def test_rows_and_columns_in_one_union_meet_at_their_keys(
    rows, columns, seed, faults, parallelism
) -> None:
    with run_local(3, seed, faults=faults, epoch_records=9, buffer_records=3):
        env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(parallelism)
        both = timed(env, rows).union(timed(env, columns).map_batches(same))
        counted = list(both.key_by("key").process(Count()).execute_and_collect())
    totals = Counter(record["key"] for record in rows + columns)
    expected = Counter((key, n + 1) for key, total in totals.items() for n in range(total))
    assert Counter((key, count) for key, count, _ in counted) == expected
    assert all(on_time for _, _, on_time in counted)


@settings(max_examples=8, deadline=None)
@given(RECORDS, st.integers(0, 99), st.sampled_from([1, 3]))
def test_windows_over_columns_and_rows(records, seed, parallelism) -> None:
    found = []
    for columnar in (False, True):
        with run_local(2, seed, epoch_records=8, buffer_records=2):
            env = StreamExecutionEnvironment.get_execution_environment()
            stream = timed(env.set_parallelism(parallelism), records)
            stream = stream.map_batches(same) if columnar else stream
            counts = stream.key_by(["name", "key"]).window(
                TumblingEventTimeWindows.of(Time.milliseconds(20))
            )
            ones = counts.process(Size())
            found.append(Counter(ones.execute_and_collect()))
    assert found[0] == found[1]


@settings(max_examples=8, deadline=None)
@given(RECORDS, st.integers(0, 99))
def test_a_vectorised_function_behind_key_by_has_all_records_of_its_keys(records, seed) -> None:
    with run_local(2, seed, epoch_records=8, buffer_records=2):
        env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(3)
        ordered = [{name: record[name] for name in ("key", "name", "at")} for record in records]
        keyed = env.from_collection(ordered).map_batches(same).key_by(["key", "name"])
        found = list(
            keyed.map_batches(Where()).map_batches(same, records="tuple").execute_and_collect()
        )
    assert Counter(row[:3] for row in found) == Counter(tuple(r.values()) for r in ordered)
    owners: dict[Any, set[Any]] = {}
    for key, name, _, subtask in found:
        owners.setdefault((key, name), set()).add(subtask)
    assert all(len(subtasks) == 1 for subtasks in owners.values())


def test_row_kinds_go_through_columns_and_exchanges() -> None:
    kinds = list(RowKind)
    rows = [Row.of_kind(kinds[n % 4], key=n % 3, n=n) for n in range(20)]
    with run_local(2, epoch_records=6, buffer_records=2):
        env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
        stream = env.from_collection(rows).map_batches(same, records="row").key_by("key")
        found = list(stream.map_batches(same, records="row").execute_and_collect())
    assert sorted(found, key=lambda row: row.n) == rows
