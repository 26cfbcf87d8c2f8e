"""Vectorised keyed functions against a model that takes one record after the other."""

from __future__ import annotations

import random
from collections import Counter
from functools import partial
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.table_runtime.subtask import MAXIMUM, Subtask

from millrace.common import Duration
from millrace.common.errors import JobDefinitionError, JobExecutionError, StateError
from millrace.common.types.batch import ColumnBatch
from millrace.datastream import BatchProcessFunction, StreamExecutionEnvironment
from millrace.datastream.state import (
    AggregatingColumnDescriptor,
    Mean,
    ReducingColumnDescriptor,
    ValueColumnDescriptor,
)
from millrace.runtime.operators.map_batches import BatchSpec
from millrace.runtime.operators.process_batch import ProcessBatchOperator
from millrace.state.key_groups import key_group_of, key_group_range
from millrace.testing import Faults, OperatorHarness, run_local

Record = tuple[Any, ...]


class Everything(BatchProcessFunction):
    """Uses each kind of state, and timers of both domains."""

    def states(self):
        return [
            ValueColumnDescriptor("last", pa.string()),
            ReducingColumnDescriptor("sum", pa.int64()),
            ReducingColumnDescriptor("least", pa.float64(), "min"),
            ReducingColumnDescriptor("most", pa.int32(), "max"),
            AggregatingColumnDescriptor("mean", Mean()),
        ]

    def process_batch(self, batch, ctx):
        number, text = batch["n"], batch["t"]
        state, timers = ctx.state, ctx.timer_service()
        running = state("sum").accumulate(number)
        least = state("least").accumulate(number)
        state("most").add(number)
        state("mean").add(batch["m"])
        state("last").put(text)
        timers.register_event_time_timers(batch["at"])
        timers.delete_event_time_timers(batch["not_at"])
        timers.register_processing_time_timers(batch["at"])
        columns = [*batch.select(["k", "n"]).columns, running, least]
        return pa.RecordBatch.from_arrays(columns, ["k", "n", "sum", "least"])

    def on_timer(self, timers, ctx):
        state = ctx.state
        names = ["sum", "most", "mean", "last"]
        columns = [state(name).get() for name in names]
        if ctx.time_domain().name == "PROCESSING_TIME":
            state("mean").clear()
        return pa.RecordBatch.from_arrays([*timers.columns, *columns], ["k", "at", *names])


class Model:
    """The same, a record at a time."""

    def __init__(self) -> None:
        self.keys: dict[Any, dict[str, Any]] = {}
        self.event: set[tuple[int, Any]] = set()
        self.processing: set[tuple[int, Any]] = set()

    def process(self, records: list[Record]) -> list[Record]:
        found = []
        for key, number, text, mean, at, _ in records:
            kept = self.keys.setdefault(key, {})
            kept["sum"] = kept.get("sum", 0) + number
            kept["least"] = min(kept.get("least", number), number)
            kept["most"] = max(kept.get("most", number), number)
            kept["last"] = text
            if mean is not None:
                kept.setdefault("means", []).append(mean)
            if at is not None:
                self.event.add((at, key))
                self.processing.add((at, key))
            found.append((key, number, kept["sum"], kept["least"]))
        self.event -= {(record[5], record[0]) for record in records}
        return found

    def fire(self, timers: set[tuple[int, Any]], until: int) -> list[Record]:
        due = {each for each in timers if each[0] <= until}
        timers -= due
        return [(key, at, *self._shown(key)) for at, key in due]

    def _shown(self, key: Any) -> Record:
        kept = self.keys.get(key, {})
        means = kept.get("means")
        mean = sum(means) / len(means) if means else None
        return kept.get("sum"), kept.get("most"), mean, kept.get("last")

    def forget_means(self, fired: list[Record]) -> None:
        for record in fired:
            self.keys[record[0]].pop("means", None)


TYPES = [pa.string(), pa.int64(), pa.string(), pa.float64(), pa.int64(), pa.int64()]
NAMES = ["k", "n", "t", "m", "at", "not_at"]


def batch_of(records: list[Record]) -> ColumnBatch:
    columns = zip(*records, strict=True)
    arrays = [pa.array(list(column), kind) for column, kind in zip(columns, TYPES, strict=True)]
    return ColumnBatch(pa.RecordBatch.from_arrays(arrays, NAMES))


def operator(function: Any = None, fields: Any = ("k",)) -> ProcessBatchOperator:
    function = function or Everything()
    return ProcessBatchOperator(function, BatchSpec("arrow", "dict"), fields, function.states())


def random_records(chance: random.Random) -> list[Record]:
    return [
        (
            chance.choice(["a", "b", "c", "dd", None, ""]),
            chance.randrange(-9, 9),
            chance.choice(["x", "y", None]),
            chance.choice([None, 0.5, 2.0]),
            chance.choice([None, chance.randrange(1, 200)]),
            chance.choice([None, chance.randrange(1, 200)]),
        )
        for _ in range(chance.randrange(1, 40))
    ]


@settings(deadline=None, max_examples=40)
@given(st.randoms(use_true_random=False))
def test_epochs_aborts_and_restores_give_what_single_records_give(chance: random.Random) -> None:
    subtask, model = Subtask(operator), Model()
    watermark = 0
    for _ in range(chance.randrange(1, 8)):
        if chance.random() < 0.3:
            watermark_lost = watermark + chance.randrange(90)
            subtask.epoch([batch_of(random_records(chance))], watermark_lost, abort=True)
        subtask.now += chance.randrange(60)
        expected = model.fire(model.processing, subtask.now)
        model.forget_means(expected)
        batches = [random_records(chance) for _ in range(chance.randrange(3))]
        for records in batches:
            expected += model.process(records)
        watermark += chance.randrange(60)
        expected += model.fire(model.event, watermark)
        found = subtask.epoch([batch_of(records) for records in batches], watermark)
        assert Counter(row for _, row in found) == Counter(expected)
        if chance.random() < 0.4:
            now = subtask.now
            subtask = subtask.restored()
            subtask.now = now


@settings(deadline=None, max_examples=40)
@given(st.randoms(use_true_random=False), st.integers(2, 4))
def test_a_rescaled_job_has_the_state_and_timers_of_its_keys(
    chance: random.Random, parallelism: int
) -> None:
    one, model = Subtask(operator), Model()
    for _ in range(3):
        records = random_records(chance)
        model.process(records)
        one.epoch([batch_of(records)])
    records = random_records(chance)
    expected = model.process(records)
    expected += model.fire(model.event, 120)
    found: list[Record] = []
    for index in range(parallelism):
        part = one.restored(index, parallelism)
        part.now = one.now
        own = key_group_range(index, parallelism, MAXIMUM)
        mine = [record for record in records if key_group_of(record[0], MAXIMUM) in own]
        batches = [batch_of(mine)] if mine else []
        found += [row for _, row in part.epoch(batches, 120)]
    assert Counter(found) == Counter(expected)


def test_values_of_many_types() -> None:
    types = [
        pa.bool_(),
        pa.date32(),
        pa.timestamp("us"),
        pa.float32(),
        pa.binary(),
        pa.list_(pa.int64()),
        pa.decimal128(9, 2),
    ]

    class Keep(BatchProcessFunction):
        def states(self):
            return [ValueColumnDescriptor(f"s{n}", kind) for n, kind in enumerate(types)]

        def process_batch(self, batch, ctx):
            found = [ctx.state(f"s{n}").get() for n in range(len(types))]
            for n in range(len(types)):
                ctx.state(f"s{n}").put(batch[f"s{n}"])
            assert [each.type for each in found] == types
            return pa.RecordBatch.from_arrays(found, [f"s{n}" for n in range(len(types))])

    from datetime import date, datetime
    from decimal import Decimal

    row = (True, date(2026, 1, 2), datetime(2026, 1, 2, 3), 1.5, b"z", [1, None], Decimal("1.50"))
    arrays = [pa.array([value], kind) for value, kind in zip(row, types, strict=True)]
    names = ["k", *(f"s{n}" for n in range(len(types)))]
    batch = ColumnBatch(pa.RecordBatch.from_arrays([pa.array([7]), *arrays], names))
    subtask = Subtask(partial(operator, Keep()))
    assert subtask.epoch([batch]) == [("+I", (None,) * len(types))]
    found = subtask.restored().epoch([batch])
    assert found == [("+I", row)]


class Latest(BatchProcessFunction):
    def __init__(self, ttl: Duration | None = None) -> None:
        self.ttl = ttl

    def states(self):
        return [
            ValueColumnDescriptor("v", pa.int64(), self.ttl),
            ReducingColumnDescriptor("n", pa.int64(), ttl=self.ttl),
        ]

    def process_batch(self, batch, ctx):
        before = ctx.state("v").get()
        ctx.state("v").put(batch["v"])
        return pa.RecordBatch.from_arrays(
            [batch["k"], before, ctx.state("v").get(), ctx.state("n").accumulate(1)],
            ["k", "before", "after", "n"],
        )


def rows_of(*values: Any) -> ColumnBatch:
    keys, numbers = zip(*values, strict=True)
    return ColumnBatch(pa.record_batch({"k": list(keys), "v": pa.array(numbers, pa.int64())}))


def test_the_last_value_of_a_batch_stays_and_null_clears() -> None:
    subtask = Subtask(partial(operator, Latest()))
    subtask.epoch([rows_of(("a", 1), ("a", None), ("b", None), ("b", 2), ("a", 3))])
    subtask.epoch([rows_of(("a", 4), ("b", 5), ("b", None))])
    second = [row[1:3] for _, row in subtask.changes[5:]]
    assert second == [(3, 4), (2, None), (2, None)]


def test_state_is_forgotten_after_its_time_to_live() -> None:
    subtask = Subtask(partial(operator, Latest(Duration.of_millis(100))))
    subtask.epoch([rows_of(("a", 1), ("b", 1))])
    subtask.now = 60
    subtask.epoch([rows_of(("a", 2))])
    subtask.now = 120
    found = subtask.epoch([rows_of(("a", 3), ("b", 3))])
    assert [row for _, row in found] == [("a", 2, 3, 3), ("b", None, 3, 1)]


# -- in programs -------------------------------------------------------------------------------


def count(batch: Any, ctx: Any) -> Any:
    return batch.append_column("count", ctx.state("count").accumulate(1))


COUNT = ReducingColumnDescriptor("count", pa.int64())


def new_env(parallelism: int = 1) -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment().set_parallelism(parallelism)


def counted(parallelism: int) -> Counter[Record]:
    records = [{"a": f"k{number % 7}", "b": number % 3} for number in range(500)]
    stream = new_env(parallelism).from_collection(records).key_by(["a", "b"])
    rows = stream.process_batch(count, [COUNT], records="tuple").execute_and_collect()
    return Counter(rows)


def expected_counts() -> Counter[Record]:
    found: Counter[Record] = Counter()
    seen: Counter[Record] = Counter()
    for number in range(500):
        key = (f"k{number % 7}", number % 3)
        seen[key] += 1
        found[(*key, seen[key])] += 1
    return found


@pytest.mark.parametrize("faults", [Faults(), Faults(0.2, 0.3, 0.2, 0.1)])
@pytest.mark.parametrize("parallelism", [1, 3])
def test_a_job_counts_exactly_once(faults: Faults, parallelism: int) -> None:
    with run_local(2, 3, faults=faults, epoch_records=40):
        assert counted(parallelism) == expected_counts()


def test_batches_of_another_size_count_the_same() -> None:
    with run_local(buffer_records=7):
        assert counted(2) == expected_counts()


@pytest.mark.spark
def test_a_job_counts_on_spark() -> None:
    assert counted(2) == expected_counts()


def test_a_savepoint_brings_state_and_timers() -> None:
    class Remind(BatchProcessFunction):
        def states(self):
            return [COUNT]

        def process_batch(self, batch, ctx):
            ctx.state("count").add(1)
            ctx.timer_service().register_event_time_timers(batch["at"])

        def on_timer(self, timers, ctx):
            return timers.append_column("count", ctx.state("count").get())

    stream = new_env().from_collection([]).key_by("a").process_batch(Remind(), records="tuple")
    with OperatorHarness(stream) as made:
        made.process_elements([{"a": 1, "at": 50}, {"a": 2, "at": 60}, {"a": 1, "at": None}])
        taken = made.snapshot()
    with made.restored(taken) as other:
        other.process_watermark(55)
        assert [tuple(record) for record in other.records()] == [((1, 50, 2), 50)]
        other.process_watermark(70)
        assert other.output() == [(1, 50, 2), (2, 60, 1)]


def test_pandas() -> None:
    pytest.importorskip("pandas")

    def last(frame: Any, ctx: Any) -> Any:
        frame["count"] = ctx.state("count").accumulate(frame["n"])
        return frame.iloc[ctx.last_rows().to_numpy()]

    stream = new_env().from_collection([]).key_by("a")
    with OperatorHarness(stream.process_batch(last, [COUNT], "pandas", "tuple")) as made:
        made.process_elements([{"a": "x", "n": 1}, {"a": "y", "n": 2}, {"a": "x", "n": 3}])
        assert made.output() == [("y", 2, 2), ("x", 3, 4)]


@pytest.mark.parametrize(
    ("key", "states", "message"),
    [
        (lambda record: record["a"], [COUNT], "key_by has to name them"),
        (["a"], [COUNT], "key_by has to name them"),
        ("a", [COUNT, COUNT], "2 states of the name 'count'"),
        ("a", ["count"], "got 'count'"),
    ],
)
def test_programs_that_cannot_work_are_refused(key: Any, states: Any, message: str) -> None:
    with pytest.raises(JobDefinitionError, match=message):
        new_env().from_collection([]).key_by(key).process_batch(count, states)


@pytest.mark.parametrize(
    ("function", "error", "message"),
    [
        (lambda batch, ctx: ctx.state("other"), StateError, r"no state 'other'; .*\[count\]"),
        (lambda batch, ctx: ctx.state("count").add([1]), StateError, "1 values for a batch of 2"),
        (
            lambda batch, ctx: ctx.timer_service().register_event_time_timers(1),
            JobExecutionError,
            "no on_timer",
        ),
    ],
)
def test_mistakes_are_explained(function: Any, error: type[Exception], message: str) -> None:
    stream = new_env().from_collection([]).key_by("a").process_batch(function, [COUNT])

    def run() -> None:
        with OperatorHarness(stream) as made:
            made.process_elements([{"a": 1}, {"a": 2}])
            made.process_watermark(5)

    with pytest.raises(error, match=message):
        run()


def test_keys_of_other_types_are_refused() -> None:
    stream = new_env().from_collection([]).key_by("a").process_batch(count, [COUNT])
    with (
        OperatorHarness(stream) as made,
        pytest.raises(JobExecutionError, match="keys of the type double"),
    ):
        made.process_elements([{"a": 1.5}])
