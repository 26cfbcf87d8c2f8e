"""FIRST_VALUE, LAST_VALUE and SINGLE_VALUE by the order of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millrace.common.errors import JobExecutionError
from millrace.common.types.logical.arrow_type import arrow_type
from millrace.common.types.logical.logical_type import IntType, LogicalType, VarCharType
from millrace.expressions import registry
from millrace.expressions.aggregates.accumulator import ColumnAccumulator, Columns
from millrace.expressions.aggregates.accumulators import accumulator

EVERY = np.arange(3)
VALUES: dict[LogicalType, Any] = {
    IntType(): st.none() | st.integers(-9, 9),
    VarCharType(): st.none() | st.text(max_size=2),
}


def empty(state: ColumnAccumulator) -> Columns:
    return tuple(
        np.full(len(EVERY), None, object) if each.kind == "O" else np.zeros(len(EVERY), each)
        for each in state.columns()
    )


def feed(
    state: ColumnAccumulator, held: Columns, kind: LogicalType, rows: Any, signs: Any = None
) -> None:
    values = pa.array([value for _, value in rows], arrow_type(kind))
    slots = np.array([slot for slot, _ in rows], np.int64)
    state.accumulate(slots, held, [values], None if signs is None else np.array(signs, np.int8))


@pytest.mark.parametrize("kind", VALUES, ids=str)
@pytest.mark.parametrize("name", ["FIRST_VALUE", "LAST_VALUE"])
@settings(deadline=None)
@given(data=st.data())
def test_the_first_and_last_that_is_not_null(name: str, kind: LogicalType, data: Any) -> None:
    row = st.tuples(st.integers(0, 2), VALUES[kind])
    batches = data.draw(st.lists(st.lists(row, max_size=6), max_size=3))
    state = accumulator(registry.function(name), (kind,), kind)
    held, merged = empty(state), empty(state)
    for batch in batches:
        feed(state, held, kind, batch)
        part = empty(state)
        feed(state, part, kind, batch)
        state.merge(EVERY, merged, EVERY, part)
    place = 0 if name == "FIRST_VALUE" else -1
    rows = [row for batch in batches for row in batch if row[1] is not None]
    groups = [[value for slot, value in rows if slot == group] or [None] for group in EVERY]
    expected = [group[place] for group in groups]
    assert state.value(EVERY, held).to_pylist() == expected
    assert state.value(EVERY, merged).to_pylist() == expected


@pytest.mark.parametrize(("kind", "one", "two"), [(IntType(), 5, 6), (VarCharType(), "a", "b")])
def test_a_single_value_that_is_updated(kind: LogicalType, one: Any, two: Any) -> None:
    state = accumulator(registry.function("SINGLE_VALUE"), (kind,), kind)
    held = empty(state)
    feed(state, held, kind, [(0, one), (1, None)])
    assert state.value(EVERY, held).to_pylist() == [one, None, None]
    feed(state, held, kind, [(0, one), (0, two), (1, None), (1, one)], [-1, 1, -1, 1])
    assert state.value(EVERY, held).to_pylist() == [two, one, None]
    feed(state, held, kind, [(0, two), (0, None), (1, one)], [-1, 1, -1])
    assert state.value(EVERY, held).to_pylist() == [None, None, None]
    assert held[2].tolist() == [1, 0, 0]


@pytest.mark.parametrize("before", [[(0, 1)], []])
def test_a_second_row_fails(before: list[Any]) -> None:
    state = accumulator(registry.function("SINGLE_VALUE"), (IntType(),), IntType())
    held = empty(state)
    feed(state, held, IntType(), before)
    with pytest.raises(JobExecutionError, match="more than one row"):
        feed(state, held, IntType(), [(1, 2), (0, None), (0, 3)][: 3 - len(before)])
