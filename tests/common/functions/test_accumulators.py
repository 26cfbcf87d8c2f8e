"""Each kind of accumulator: add, merge, reset, copy."""

from __future__ import annotations

import pickle

import pytest

from millrace.common.functions import accumulators
from millrace.common.functions.accumulators import (
    AverageAccumulator,
    DoubleCounter,
    Histogram,
    IntCounter,
    ListAccumulator,
    LongCounter,
    MaximumAccumulator,
    MinimumAccumulator,
)

KINDS = {
    IntCounter: ([1, 2], [4], 0, 3, 7),
    LongCounter: ([2**40, 2], [4], 0, 2**40 + 2, 2**40 + 6),
    DoubleCounter: ([0.5, 2], [4], 0.0, 2.5, 6.5),
    AverageAccumulator: ([1, 2], [6], 0.0, 1.5, 3.0),
    MinimumAccumulator: ([5, 2, 3], [1], None, 2, 1),
    MaximumAccumulator: ([5, 2, 3], [7], None, 5, 7),
    ListAccumulator: (["b", "a"], ["a"], [], ["b", "a"], ["b", "a", "a"]),
    Histogram: (["b", "a"], ["a"], {}, {"a": 1, "b": 1}, {"a": 2, "b": 1}),
}


def filled(kind, values):
    made = kind()
    for value in values:
        made.add(value)
    return made


def test_all_kinds_are_tested() -> None:
    assert {kind.__name__ for kind in KINDS} == set(accumulators.__all__) - {"Accumulator"}


@pytest.mark.parametrize("kind", KINDS)
def test_add_merge_and_reset(kind) -> None:
    first, second, nothing, one, both = KINDS[kind]
    made, other = filled(kind, first), pickle.loads(pickle.dumps(filled(kind, second)))
    assert made.get_local_value() == one
    made.merge(kind())
    assert made.get_local_value() == one, "one without values adds nothing"
    made.merge(other)
    assert made.get_local_value() == both
    made.reset_local()
    assert made.get_local_value() == nothing
    assert type(made.get_local_value()) is type(nothing)


@pytest.mark.parametrize("kind", KINDS)
def test_a_copy_is_on_its_own(kind) -> None:
    first, second, _, one, both = KINDS[kind]
    made = filled(kind, first)
    copy = made.clone()
    for value in second:
        made.add(value)
    assert copy.get_local_value() == one
    assert made.get_local_value() == both


def test_extremes_of_zero_count() -> None:
    assert filled(MinimumAccumulator, [3, 0]).get_local_value() == 0
    merged = filled(MaximumAccumulator, [-3])
    merged.merge(filled(MaximumAccumulator, [0]))
    assert merged.get_local_value() == 0


def test_a_histogram_is_sorted() -> None:
    assert list(filled(Histogram, [3, 1, 2, 1]).get_local_value()) == [1, 2, 3]
