"""Accumulators against naive Python: sums, means and extremes, with rows taken back and merges."""

from __future__ import annotations

from datetime import date
from decimal import ROUND_HALF_UP, Decimal, localcontext
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millrace.common.types.logical.arrow_type import arrow_type
from millrace.common.types.logical.logical_type import (
    DateType,
    DecimalType,
    IntType,
    LogicalType,
    VarCharType,
)
from millrace.expressions import registry
from millrace.expressions.aggregates.accumulator import ColumnAccumulator, Columns
from millrace.expressions.aggregates.accumulators import accumulator
from millrace.expressions.function_definition import FunctionResolutionError
from millrace.expressions.registry import resolve_aggregate

GROUPS = 4


def made(name: str, kind: LogicalType) -> ColumnAccumulator:
    return accumulator(
        registry.function(name), (kind,), resolve_aggregate(registry.function(name), (kind,))
    )


def empty(state: ColumnAccumulator) -> Columns:
    return tuple(
        np.full(GROUPS, None, object) if each.kind == "O" else np.zeros(GROUPS, each)
        for each in state.columns()
    )


def fed(state: ColumnAccumulator, kind: LogicalType, rows: list[Any], signs: Any = None) -> Columns:
    held = empty(state)
    slots = np.array([slot for slot, _ in rows], np.int64)
    values = pa.array([value for _, value in rows], arrow_type(kind))
    state.accumulate(slots, held, [values], signs)
    return held


def values_of(rows: list[Any], group: int) -> list[Any]:
    return [value for slot, value in rows if slot == group and value is not None]


def naive(name: str, values: list[Any], scale: int) -> Any:
    if name == "COUNT":
        return len(values)
    if not values:
        return None
    if name in ("MIN", "MAX"):
        return min(values) if name == "MIN" else max(values)
    with localcontext(prec=76):
        return mean_or_sum(name, values, scale)


def mean_or_sum(name: str, values: list[Any], scale: int) -> Any:
    total = sum(values[1:], values[0])
    if name == "SUM":
        return total
    if isinstance(total, Decimal):
        return (total / len(values)).quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP)
    return int(total / len(values))


ROWS = {
    IntType(): st.integers(-1000, 1000),
    DecimalType(30, 2): st.decimals(-(10**24), 10**24, places=2),
}


@pytest.mark.parametrize("kind", ROWS, ids=str)
@pytest.mark.parametrize("name", ["COUNT", "SUM", "AVG", "MIN", "MAX"])
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_groups_are_as_in_naive_python(name: str, kind: LogicalType, data: Any) -> None:
    slots = st.integers(0, GROUPS - 1)
    row = st.tuples(slots, st.one_of(st.none(), ROWS[kind]))
    rows = data.draw(st.lists(row, max_size=20))
    cut = data.draw(st.integers(0, len(rows)))
    state = made(name, kind)
    scale = getattr(state.result_type, "scale", 0)
    expected = [naive(name, values_of(rows, group), scale) for group in range(GROUPS)]
    every = np.arange(GROUPS)
    whole = fed(state, kind, rows)
    assert state.value(every, whole).to_pylist() == expected
    one, other = fed(state, kind, rows[:cut]), fed(state, kind, rows[cut:])
    state.merge(every, one, every, other)
    assert state.value(every, one).to_pylist() == expected
    assert state.value(every, one).type == state.arrow


@pytest.mark.parametrize("kind", ROWS, ids=str)
@pytest.mark.parametrize("name", ["COUNT", "SUM", "AVG"])
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_rows_taken_back_never_were(name: str, kind: LogicalType, data: Any) -> None:
    row = st.tuples(st.integers(0, GROUPS - 1), st.one_of(st.none(), ROWS[kind]))
    kept = data.draw(st.lists(row, max_size=10))
    gone = data.draw(st.lists(row, max_size=10))
    signs = np.array([1] * (len(kept) + len(gone)) + [-1] * len(gone), np.int8)
    state = made(name, kind)
    both = fed(state, kind, kept + gone + gone, signs)
    every = np.arange(GROUPS)
    assert state.value(every, both).equals(state.value(every, fed(state, kind, kept)))


def test_decimals_beyond_38_digits_are_null_until_some_are_taken_back() -> None:
    kind, big, least = DecimalType(38, 0), Decimal(10**38 - 1), Decimal(1 - 10**38)
    many = [(0, big)] * 5 + [(1, least), (1, least), (2, big), (3, big), (3, Decimal(1))]
    nines = [None, None, big, None]
    for name in ("SUM", "AVG"):
        state = made(name, kind)
        held = fed(state, kind, many)
        found = state.value(np.arange(GROUPS), held).to_pylist()
        assert found[:2] == [None, None]
        assert found[3] is None
        assert name == "AVG" or found == nines
        back = np.zeros(4, np.int64)
        values = pa.array([big] * 4, arrow_type(kind))
        state.accumulate(back, held, [values], np.full(4, -1, np.int8))
        assert made("SUM", kind).value(np.arange(1), held).to_pylist() == [big]
    state = made("SUM", kind)
    one, other = fed(state, kind, many), fed(state, kind, many)
    state.merge(np.zeros(2, np.int64), one, np.array([1, 1]), other)
    assert state.value(np.arange(1), one).to_pylist() == [big]


def test_extremes_of_texts_and_dates() -> None:
    rows = [(0, "b"), (0, "a"), (1, None), (0, "c")]
    state = made("MAX", VarCharType())
    assert state.value(np.arange(2), fed(state, VarCharType(), rows)).to_pylist() == ["c", None]
    state = made("MIN", DateType())
    days = [(0, date(2020, 1, 2)), (0, date(1960, 1, 1))]
    assert state.value(np.arange(1), fed(state, DateType(), days)).to_pylist() == [date(1960, 1, 1)]


def test_a_function_without_accumulator_says_so() -> None:
    with pytest.raises(FunctionResolutionError, match="RANK cannot run here yet"):
        accumulator(registry.function("RANK"), (), IntType())
