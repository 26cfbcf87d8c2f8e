"""Vectorised functions, and the columnar batches between them."""

from __future__ import annotations

from collections import Counter, namedtuple
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millrace.common import Duration, Row, Time, WatermarkStrategy
from millrace.common.errors import JobDefinitionError, JobExecutionError, UserFunctionError
from millrace.common.types.batch import ColumnBatch
from millrace.datastream import (
    CheckpointedFunction,
    MapBatchFunction,
    ProcessFunction,
    StreamExecutionEnvironment,
)
from millrace.datastream.connectors.file_system import FileSink, FileSource
from millrace.datastream.formats.parquet import ParquetBulkWriters, ParquetColumnarRowInputFormat
from millrace.datastream.state import ListStateDescriptor
from millrace.datastream.window import TumblingEventTimeWindows
from millrace.testing import Faults, OperatorHarness, run_local

Point = namedtuple("Point", "x y")
FAULTS = st.sampled_from([Faults(), Faults(0.2, 0.3, 0.2, 0.1)])


def new_env(parallelism: int = 1) -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment().set_parallelism(parallelism)


def harness(function, *arguments, **options) -> OperatorHarness:
    return OperatorHarness(
        new_env().from_collection([]).map_batches(function, *arguments, **options)
    )


def doubled(batch):
    columns = {name: batch.column(name) for name in batch.schema.names}
    columns["value"] = pc.multiply(batch["value"], 2)
    return pa.RecordBatch.from_pydict(columns)


def evens(batch):
    return batch.filter(pc.equal(pc.bit_wise_and(batch["value"], 1), 0))


def same(batch):
    return batch


# -- the operator ------------------------------------------------------------------------------


def test_arrow() -> None:
    with harness(doubled, records="value") as made:
        made.process_elements([1, 2, 3], [11, 12, 13])
        made.process_elements([4])
        assert [tuple(r) for r in made.records()] == [(2, 11), (4, 12), (6, 13), (8, None)]


def test_a_table_several_batches_or_none() -> None:
    def several(batch):
        yield batch
        yield pa.Table.from_batches([batch, batch])
        yield batch.slice(0, 0)

    with harness(several, records="value") as made:
        made.process_elements([1, 2])
        assert made.output() == [1, 2] * 3
    with harness(lambda batch: pa.Table.from_batches([batch]), records="value") as made:
        made.process_elements([1, 2])
        assert made.output() == [1, 2]
    with harness(lambda batch: None) as made:
        made.process_elements([1, 2], [1, 2])
        assert made.output() == []


def test_pandas() -> None:
    pytest.importorskip("pandas")

    def add(frame):
        frame["z"] = frame["x"] + frame["y"]
        return frame[frame["z"] > 3]

    with harness(add, "pandas", timestamp_column="t") as made:
        made.process_elements([{"x": 1, "y": 2}, {"x": 3, "y": 4}], [11, 12])
        assert [tuple(r) for r in made.records()] == [({"x": 3, "y": 4, "z": 7}, 12)]
        assert type(made.output()[0]["z"]) is int


BIG = 2**60 + 1


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        ([BIG, None], "Int64"),
        ([BIG, 1], "int64"),
        ([None, None], "object"),
        ([[BIG, None], None], "list<item: int64>[pyarrow]"),
        ([[{"a": BIG}, {"a": None}], None], "list<item: struct<a: int64>>[pyarrow]"),
        ([[[BIG, None]], [[]]], "list<item: list<item: int64>>[pyarrow]"),
        ([1.5, None], "float64"),
        ([True, None], "object"),
    ],
)
def test_integers_beside_none_stay_integers_in_pandas(values, dtype) -> None:
    pytest.importorskip("pandas")
    seen = []

    def look(frame):
        seen.append(str(frame["value"].dtype))
        return frame

    with harness(look, "pandas", records="value") as made:
        made.process_elements(values)
        assert made.output() == values
        assert list(map(type, made.output())) == list(map(type, values))
    assert seen == [dtype]


@pytest.mark.parametrize("width", [8, 16, 32, 64])
@pytest.mark.parametrize("sign", ["int", "uint"])
def test_integers_of_all_widths_keep_them_in_pandas(sign, width) -> None:
    pytest.importorskip("pandas")
    kind = getattr(pa, f"{sign}{width}")()

    def cast(batch):
        return pa.RecordBatch.from_arrays([batch["value"].cast(kind)], ["value"])

    def look(frame):
        assert str(frame["value"].dtype).lower() == str(kind)
        return frame

    with run_local():
        source = new_env().from_collection([1, None])
        stream = source.map_batches(cast).map_batches(look, "pandas", "value")
        assert list(stream.execute_and_collect()) == [1, None]


@pytest.mark.parametrize("record_type", [dict, Row])
def test_integers_beside_none_go_from_parquet_through_pandas_to_parquet(
    tmp_path, record_type
) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    table = pa.table({"id": [BIG, None, 3], "parts": [[BIG, None], None, []]})
    (tmp_path / "in").mkdir()
    pq.write_table(table, tmp_path / "in" / "a.parquet")
    parquet = ParquetColumnarRowInputFormat(record_type=record_type, columnar=True)
    source = FileSource.for_bulk_file_format(parquet, str(tmp_path / "in")).build()
    writers = ParquetBulkWriters.for_arrow_schema(table.schema)
    sink = FileSink.for_bulk_format(str(tmp_path / "out"), writers).build()
    records = "dict" if record_type is dict else "row"
    with run_local():
        env = new_env()
        stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "in")
        stream.map_batches(lambda frame: frame[::-1], "pandas", records).sink_to(sink)
        env.execute()
    assert pq.read_table(tmp_path / "out").to_pylist() == table.to_pylist()[::-1]


def test_polars() -> None:
    polars = pytest.importorskip("polars")

    def add(frame):
        return frame.with_columns((polars.col("x") * 2).alias("z"))

    with harness(add, "polars", "tuple") as made:
        made.process_elements([Point(1, "a"), Point(2, "b")])
        assert made.output() == [(1, "a", 2), (2, "b", 4)]


@pytest.mark.parametrize(
    ("batch_format", "result", "message"),
    [
        ("arrow", [1], "on Arrow returns a RecordBatch, a Table or None, got list"),
        ("pandas", [1], "on pandas returns a DataFrame, got list"),
    ],
)
def test_what_a_function_returns(batch_format, result, message) -> None:
    pytest.importorskip("pandas")
    with (
        harness(lambda batch: result, batch_format) as made,
        pytest.raises(JobExecutionError, match=message),
    ):
        made.process_element(1)


class Counting(MapBatchFunction, CheckpointedFunction):
    """With a life cycle and operator state."""

    def open(self, runtime_context):
        self.name = runtime_context.get_task_name()

    def initialize_state(self, context):
        descriptor = ListStateDescriptor("total")
        self.kept = context.get_operator_state_store().get_list_state(descriptor)
        self.total = sum(self.kept)

    def snapshot_state(self, context):
        self.kept.update([self.total])

    def map_batch(self, batch):
        self.total += pc.sum(batch["value"]).as_py()
        return pa.RecordBatch.from_pydict({"total": [self.total], "name": [self.name]})


def test_a_function_object() -> None:
    with harness(Counting(), "arrow", "tuple") as made:
        made.process_elements([1, 2])
        taken = made.snapshot()
        assert made.output() == [(3, "Map Batches")]
    with made.restored(taken) as other:
        other.process_elements([4])
        assert other.output() == [(7, "Map Batches")]


# -- event times -------------------------------------------------------------------------------


def test_the_column_of_event_times() -> None:
    with harness(evens, "arrow", "value", "time") as made:
        made.process_elements([1, 2, 3, 4], [11, 12, 13, 14])
        assert [tuple(r) for r in made.records()] == [(2, 12), (4, 14)]
        made.clear_output()
        made.process_elements([1, 2])
        assert [tuple(r) for r in made.records()] == [(2, None)], "there may be none"


def test_a_function_may_set_event_times() -> None:
    def timed(batch):
        times = pc.add(pc.multiply(batch["value"], 10), 0.0)
        return pa.RecordBatch.from_pydict({"value": batch["value"], "time": times})

    with harness(timed, "arrow", "value", "time") as made:
        made.process_elements([1, 2])
        made.process_elements([3], [5])
        assert [tuple(r) for r in made.records()] == [(1, 10), (2, 20), (3, 30)]
        assert all(type(r.timestamp) is int for r in made.records())


def test_which_time_belongs_to_which_must_be_known() -> None:
    with (
        harness(evens) as made,
        pytest.raises(JobExecutionError, match="made 1 records of 2.*timestamp_column"),
    ):
        made.process_elements([1, 2], [11, 12])


@pytest.mark.parametrize(
    "times", [[1.5, 2.0], [1, None], ["a", "b"], pa.array([1, 2], pa.timestamp("us"))]
)
def test_event_times_are_whole_numbers_for_all_or_none(times) -> None:
    def wrong(batch):
        return pa.RecordBatch.from_pydict({"value": batch["value"], "time": times})

    with (
        harness(wrong, timestamp_column="time") as made,
        pytest.raises(JobExecutionError, match="whole numbers .ms since the epoch. for all"),
    ):
        made.process_elements([1, 2], [11, 12])


def test_the_column_of_event_times_must_be_a_new_one() -> None:
    with (
        harness(same, timestamp_column="value") as made,
        pytest.raises(JobExecutionError, match="records have a field of that name"),
    ):
        made.process_element(1, 1)


# -- what is refused when the job is built -----------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((same, "numpy"), "works on arrow, pandas or polars, got 'numpy'"),
        ((same, "arrow", "list"), "records is one of dict, row, tuple, value, got 'list'"),
        ((5,), "takes a MapBatchFunction or a callable, got 5"),
        ((Counting,), r"pass an instance: Counting\(\)"),
    ],
)
def test_wrong_arguments(arguments, message) -> None:
    with pytest.raises(JobDefinitionError, match=message):
        new_env().from_collection([1]).map_batches(*arguments)


def test_a_missing_library_is_named(monkeypatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(JobDefinitionError, match="needs the package polars; install it"):
        new_env().from_collection([1]).map_batches(same, "polars")


# -- whole jobs --------------------------------------------------------------------------------


WAYS = {
    "chained": lambda s: s,
    "forward": lambda s: s.forward(),
    "rebalance": lambda s: s.rebalance(),
    "rescale": lambda s: s.rescale(),
    "shuffle": lambda s: s.shuffle(),
    "global_": lambda s: s.global_(),
    "broadcast": lambda s: s.broadcast(),
    "key_by": lambda s: s.key_by("value"),
    "partition_custom": lambda s: s.partition_custom(lambda key, n: key % n, "value"),
}


@pytest.mark.parametrize("timed", [False, True])
@pytest.mark.parametrize("way", WAYS)
def test_across_every_exchange(way, timed) -> None:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(100))
    assigned = strategy.with_timestamp_assigner(lambda value, record_timestamp: value)
    values = list(range(20))
    with run_local(2, 3, epoch_records=6, buffer_records=4):
        env = new_env(2)
        stream = env.from_collection(values)
        if timed:
            stream = stream.assign_timestamps_and_watermarks(assigned)
        first = stream.rebalance().map_batches(same)
        found = WAYS[way](first).map_batches(doubled, records="value").process(Timed())
        results = Counter(found.execute_and_collect())
    copies = 2 if way == "broadcast" else 1
    expected = [(2 * n, n if timed else None) for n in values]
    assert results == Counter(dict.fromkeys(expected, copies))


class Timed(ProcessFunction):
    def process_element(self, value, ctx):
        yield value, ctx.timestamp()


@pytest.mark.parametrize("way", WAYS)
def test_batches_stay_columnar_across_exchanges(way, monkeypatch) -> None:
    with run_local():
        env = new_env(2)
        first = env.from_collection([1, 2, 3]).rebalance().map_batches(same)
        monkeypatch.setattr(ColumnBatch, "to_rows", refuse)
        WAYS[way](first).map_batches(doubled).start_new_chain().map_batches(drop).print()
        env.execute()


def refuse(batch) -> Any:
    raise AssertionError("made into records")


def drop(batch):
    assert batch.num_rows


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.integers(0, 50), max_size=40), st.sampled_from([1, 3]), st.integers(0, 99), FAULTS
)
def test_mixed_with_operators_on_records(values, parallelism, seed, faults) -> None:
    with run_local(3, seed, faults=faults, epoch_records=7, buffer_records=3):
        env = new_env(parallelism)
        rows = env.from_collection(values).map(lambda n: {"value": n, "key": n % 3})
        vector = rows.rebalance().map_batches(doubled).filter(lambda row: row["value"] % 4 == 0)
        sums = vector.map_batches(same, records="row").key_by("key").sum("value")
        found = Counter((row["key"], row["value"]) for row in sums.execute_and_collect())
    assert sum(found.values()) == sum(n % 2 == 0 for n in values)
    for key in range(3):
        total = sum(2 * n for n in values if n % 2 == 0 and n % 3 == key)
        if total:
            assert found[key, total] >= 1


def test_windows_on_columns() -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    assigned = strategy.with_timestamp_assigner(lambda value, record_timestamp: value)
    with run_local(epoch_records=3):
        env = new_env(2)
        stream = env.from_collection(list(range(20))).assign_timestamps_and_watermarks(assigned)
        kept = stream.map_batches(evens, "arrow", "value", "time")
        windows = kept.key_by(lambda n: n % 4).window(
            TumblingEventTimeWindows.of(Time.milliseconds(10))
        )
        found = list(windows.reduce(lambda a, b: a + b).execute_and_collect())
    assert sorted(found) == sorted([0 + 4 + 8, 2 + 6, 12 + 16, 10 + 14 + 18])


def test_branches_do_not_see_each_others_changes() -> None:
    def spoil(row):
        row["value"] = -1
        return row

    with run_local():
        env = new_env()
        batches = env.from_collection([1, 2]).map_batches(same)
        spoiled = batches.map(spoil)
        kept = batches.map(dict)
        found = [row["value"] for row in spoiled.union(kept).execute_and_collect()]
    assert sorted(found) == [-1, -1, 1, 2]


def test_sinks_get_records() -> None:
    seen: list[Any] = []
    with run_local():
        env = new_env()
        env.from_collection([1, 2]).map_batches(doubled, records="tuple").print()
        collected = env.from_collection([1, 2]).map_batches(doubled, records="tuple")
        seen = list(collected.execute_and_collect())
    assert seen == [(2,), (4,)]


def test_a_failure_names_the_operator() -> None:
    with run_local():
        env = new_env()
        stream = env.from_collection([1, 2]).map_batches(lambda batch: 1 // 0).name("Divide")
        with pytest.raises(UserFunctionError, match="Divide"):
            list(stream.execute_and_collect())
