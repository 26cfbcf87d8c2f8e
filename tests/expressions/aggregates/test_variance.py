"""VAR and STDDEV against `statistics`, far from 0, merged, and with rows taken back."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millrace.common.types.logical.arrow_type import arrow_type
from millrace.common.types.logical.logical_type import (
    DecimalType,
    DoubleType,
    IntType,
    LogicalType,
)
from millrace.expressions import registry
from millrace.expressions.aggregates.accumulator import ColumnAccumulator, Columns
from millrace.expressions.aggregates.accumulators import accumulator
from millrace.expressions.registry import resolve_aggregate

NAIVE: dict[str, tuple[Callable[[Any], float], int]] = {
    "VAR_POP": (statistics.pvariance, 1),
    "VAR_SAMP": (statistics.variance, 2),
    "STDDEV_POP": (statistics.pstdev, 1),
    "STDDEV_SAMP": (statistics.stdev, 2),
}
EVERY = np.arange(3)


def made(name: str, kind: LogicalType) -> ColumnAccumulator:
    return accumulator(
        registry.function(name), (kind,), resolve_aggregate(registry.function(name), (kind,))
    )


def fed(state: ColumnAccumulator, kind: LogicalType, rows: list[Any], signs: Any = None) -> Columns:
    held = tuple(np.zeros(len(EVERY), each) for each in state.columns())
    values = pa.array([value for _, value in rows], arrow_type(kind))
    state.accumulate(np.array([slot for slot, _ in rows], np.int64), held, [values], signs)
    return held


def naive(name: str, rows: list[Any]) -> list[Any]:
    function, least = NAIVE[name]
    groups = [[value for slot, value in rows if slot == group] for group in EVERY]
    found = [[value for value in group if value is not None] for group in groups]
    return [function(group) if len(group) >= least else None for group in found]


ROWS = st.lists(
    st.tuples(st.integers(0, 2), st.none() | st.integers(-50, 50).map(lambda n: 1e6 + n / 4)),
    max_size=12,
)


@pytest.mark.parametrize("name", NAIVE)
@settings(deadline=None)
@given(one=ROWS, other=ROWS)
def test_groups_are_as_in_naive_python(name: str, one: list[Any], other: list[Any]) -> None:
    kind = DoubleType()
    state = made(name, kind)
    expected = [pytest.approx(each, abs=1e-5) for each in naive(name, one + other)]
    assert state.value(EVERY, fed(state, kind, one + other)).to_pylist() == expected
    merged, more = fed(state, kind, one), fed(state, kind, other)
    state.merge(EVERY, merged, EVERY, more)
    assert state.value(EVERY, merged).to_pylist() == expected
    signs = np.array([1] * (len(one) + len(other)) + [-1] * len(other), np.int8)
    back = fed(state, kind, [*one, *other, *other], signs)
    left = [pytest.approx(each, abs=1e-3) for each in naive(name, one)]
    if name.startswith("VAR"):  # the root makes the rounding of what was taken back larger
        assert state.value(EVERY, back).to_pylist() == left


def test_of_integers_an_integer_and_of_decimals_a_decimal() -> None:
    state = made("VAR_POP", IntType())
    assert state.value(EVERY[:1], fed(state, IntType(), [(0, 1), (0, 5)])).to_pylist() == [4]
    kind = DecimalType(5, 2)
    state = made("STDDEV_SAMP", kind)
    held = fed(state, kind, [(0, Decimal("1.00")), (0, Decimal("2.00"))])
    assert state.value(EVERY[:1], held).to_pylist() == [Decimal("0.707107")]
