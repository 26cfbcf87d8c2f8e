"""Accumulators of a job: over operators, subtasks and repeated epochs."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millrace.common import Accumulator, AverageAccumulator, ListAccumulator
from millrace.common.errors import JobExecutionError, UserFunctionError
from millrace.common.functions.accumulators import Histogram, IntCounter, MaximumAccumulator
from millrace.datastream import KeyedProcessFunction, MapFunction, StreamExecutionEnvironment
from millrace.testing import Faults, OperatorHarness, run_local


class Longest(Accumulator):
    """A user's own."""

    def __init__(self) -> None:
        self.word = ""

    def add(self, value) -> None:
        self.word = max(self.word, value, key=len)

    def get_local_value(self):
        return self.word

    def reset_local(self) -> None:
        self.word = ""

    def merge(self, other) -> None:
        self.add(other.word)


class Observe(MapFunction):
    def open(self, runtime_context):
        self.count = runtime_context.get_int_counter("count")
        self.total = runtime_context.get_long_counter("total")
        self.halves = runtime_context.get_double_counter("halves")
        self.spread = runtime_context.get_histogram("spread")
        runtime_context.add_accumulator("average", AverageAccumulator())
        runtime_context.add_accumulator("all", ListAccumulator())
        runtime_context.add_accumulator("most", MaximumAccumulator())
        runtime_context.add_accumulator("longest", Longest())
        self.added = [runtime_context.get_accumulator(n) for n in ("average", "all", "most")]
        self.longest = runtime_context.get_accumulator("longest")

    def map(self, value):
        self.count.add(1)
        self.total.add(value)
        self.halves.add(value / 2)
        self.spread.add(value % 3)
        for accumulator in self.added:
            accumulator.add(value)
        self.longest.add("x" * value)
        return value


class Again(KeyedProcessFunction):
    """Another operator that adds to the same counter."""

    def open(self, runtime_context):
        self.count = runtime_context.get_int_counter("count")

    def process_element(self, value, ctx):
        self.count.add(1)


FAULTS = st.sampled_from([Faults(), Faults(0.2, 0.3, 0.2, 0.1)])


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.integers(0, 30), max_size=40), st.sampled_from([1, 3]), st.integers(0, 99), FAULTS
)
def test_each_record_counts_once(values, parallelism, seed, faults) -> None:
    with run_local(3, seed, faults=faults, epoch_records=6, buffer_records=3):
        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_parallelism(parallelism)
        mapped = env.from_collection(values).rebalance().map(Observe())
        mapped.key_by(lambda value: value).process(Again()).add_sink(lambda value: None)
        result = env.execute()
    found = result.get_all_accumulator_results()
    found["all"].sort()
    assert found == {
        "count": 2 * len(values),
        "total": sum(values),
        "halves": sum(values) / 2,
        "spread": dict(sorted(Counter(value % 3 for value in values).items())),
        "average": sum(values) / len(values) if values else 0.0,
        "all": sorted(values),
        "most": max(values, default=None),
        "longest": "x" * max(values, default=0),
    }
    assert result.get_accumulator_result("total") == sum(values)
    assert result.get_accumulator_result("unknown") is None


def test_they_can_be_read_from_the_client() -> None:
    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment()
        env.from_collection([1, 2, 3]).map(Observe()).add_sink(lambda value: None)
        client = env.execute_async()
        client.result()
    assert client.get_accumulators().result()["total"] == 6


class Twice(MapFunction):
    def open(self, runtime_context):
        runtime_context.add_accumulator("count", IntCounter())
        runtime_context.add_accumulator("count", IntCounter())

    def map(self, value):
        return value


class OtherKind(MapFunction):
    def open(self, runtime_context):
        runtime_context.add_accumulator("count", IntCounter())
        runtime_context.get_histogram("count")

    def map(self, value):
        return value


class Tally(MapFunction):
    def open(self, runtime_context):
        self.count = runtime_context.get_histogram("count")

    def map(self, value):
        self.count.add(value)
        return value


class Count(MapFunction):
    def open(self, runtime_context):
        self.count = runtime_context.get_int_counter("count")
        assert runtime_context.get_int_counter("count") is self.count
        assert runtime_context.get_accumulator("none") is None

    def map(self, value):
        self.count.add(value)
        return value


def test_a_name_is_for_one_accumulator() -> None:
    with pytest.raises(JobExecutionError, match="'Map' has an accumulator 'count' already"):
        OperatorHarness(Twice())
    with pytest.raises(JobExecutionError, match="'count' of operator 'Map' is a IntCounter, not"):
        OperatorHarness(OtherKind())


@pytest.mark.parametrize("chained", [True, False])
def test_one_name_in_two_operators_is_one_kind(chained) -> None:
    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment()
        stream = env.from_collection([1, 2]).map(Count())
        if not chained:
            stream = stream.rebalance()
        stream.map(Tally()).add_sink(lambda value: None)
        with pytest.raises((JobExecutionError, UserFunctionError), match="give each its own name"):
            env.execute()


def test_histogram_of_two_operators() -> None:
    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment()
        env.from_collection([1, 2]).map(Tally()).map(Tally()).add_sink(lambda value: None)
        assert env.execute().get_accumulator_result("count") == {1: 2, 2: 2}
    assert Histogram().get_local_value() == {}
