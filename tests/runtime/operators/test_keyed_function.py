"""Functions with state on a keyed stream that are no process functions."""

from __future__ import annotations

import pytest

from millrace.common.errors import StateError
from millrace.datastream import FilterFunction, FlatMapFunction, MapFunction
from millrace.datastream.state import ValueStateDescriptor
from millrace.testing import OperatorHarness


class CountWindowAverage(FlatMapFunction):
    """The example of the Flink documentation, "Working with State"."""

    def open(self, runtime_context):
        self.sum = runtime_context.get_state(ValueStateDescriptor("average"))

    def flat_map(self, value):
        count, total = self.sum.value() or (0, 0)
        self.sum.update((count + 1, total + value[1]))
        if count + 1 >= 2:
            self.sum.clear()
            yield value[0], (total + value[1]) // (count + 1)


class Number(MapFunction):
    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))

    def map(self, value):
        self.count.update((self.count.value() or 0) + 1)
        return value, self.count.value()


class First(FilterFunction):
    def open(self, runtime_context):
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen"))

    def filter(self, value):
        seen = self.seen.value()
        self.seen.update(True)
        return not seen


def test_flat_map() -> None:
    harness = OperatorHarness(CountWindowAverage(), key_by=lambda value: value[0])
    harness.process_elements([(1, 3), (1, 5), (1, 7), (1, 4), (1, 2)])
    assert harness.output() == [(1, 4), (1, 5)]


def test_map() -> None:
    harness = OperatorHarness(Number(), key_by=lambda value: value)
    harness.process_elements(["a", "b", "a"])
    assert harness.output() == [("a", 1), ("b", 1), ("a", 2)]


def test_filter() -> None:
    harness = OperatorHarness(First(), key_by=lambda value: value)
    harness.process_elements(["a", "b", "a"], [1, 2, 3])
    assert [tuple(record) for record in harness.records()] == [("a", 1), ("b", 2)]


def test_without_a_key_state_is_refused() -> None:
    with pytest.raises(StateError, match="operator 'Map' has no keyed state.*key_by"):
        OperatorHarness(Number())


class Closed(Number):
    closed = False

    def close(self):
        self.closed = True


def test_the_function_is_closed() -> None:
    function = Closed()
    with OperatorHarness(function, key_by=lambda value: value):
        assert not function.closed
    assert function.closed
