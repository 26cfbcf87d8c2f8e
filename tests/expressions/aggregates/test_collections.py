"""Aggregates that keep all values of a group, against lists of rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millrace.common.errors import JobExecutionError
from millrace.common.types.logical.arrow_type import arrow_type
from millrace.common.types.logical.parser import parse_type
from millrace.expressions import registry
from millrace.expressions.aggregates.accumulator import ColumnAccumulator, Columns
from millrace.expressions.aggregates.accumulators import accumulator
from millrace.expressions.call_options import (
    CallOptions,
    JsonChoice,
    JsonClause,
    JsonClauses,
    JsonEvent,
    NullTreatment,
)
from millrace.expressions.registry import resolve_aggregate

EVERY = np.arange(3)


def listed(values: list[Any]) -> Any:
    return values or None


def known(values: list[Any]) -> list[Any]:
    return [value for value in values if value is not None]


def counted(values: list[Any]) -> Any:
    return {value: known(values).count(value) for value in known(values)}


ABSENT_ON_NULL = JsonClauses((JsonClause(JsonEvent.NULL, JsonChoice.ABSENT),))
NULL_ON_NULL = JsonClauses((JsonClause(JsonEvent.NULL, JsonChoice.NULL),))
NAMES: dict[tuple[str, Any], Callable[[list[Any]], Any]] = {
    ("ARRAY_AGG", None): listed,
    ("ARRAY_AGG", NullTreatment.IGNORE): lambda values: listed(known(values)),
    ("COLLECT", None): counted,
    ("LISTAGG", None): lambda values: ",".join(known(values)) if known(values) else None,
    ("JSON_ARRAYAGG", None): lambda values: f"[{','.join(map(quoted, known(values)))}]",
    ("JSON_ARRAYAGG", NULL_ON_NULL): lambda v: f"[{','.join(map(quoted, v))}]",
    ("FIRST_VALUE", None): lambda values: next(iter(known(values)), None),
    ("LAST_VALUE", None): lambda values: next(reversed(known(values)), None),
}


def quoted(value: str | None) -> str:
    return "null" if value is None else f'"{value}"'


def made(
    name: str, options: CallOptions | None, *kinds: str, retracts: bool = True
) -> ColumnAccumulator:
    types = tuple(map(parse_type, kinds))
    return accumulator(
        registry.function(name),
        types,
        resolve_aggregate(registry.function(name), types),
        options,
        retracts,
    )


def empty(state: ColumnAccumulator) -> Columns:
    return tuple(np.full(EVERY.size, None, kind) for kind in state.columns())


@pytest.mark.parametrize(("name", "options"), NAMES, ids=str)
@settings(deadline=None, max_examples=30)
@given(data=st.data())
def test_what_is_left_after_rows_came_and_went(
    name: str, options: CallOptions | None, data: Any
) -> None:
    state, model = made(name, options, "STRING"), [list[Any]() for _ in EVERY]
    held = empty(state)
    texts = st.none() | st.sampled_from("abc")
    for _ in range(data.draw(st.integers(0, 3))):
        rows: list[tuple[int, Any, int]] = []
        for _ in range(data.draw(st.integers(0, 8))):
            group = data.draw(st.integers(0, 2))
            if model[group] and data.draw(st.booleans()):
                value = data.draw(st.sampled_from(model[group]))
                model[group].remove(value)
                rows.append((group, value, -1))
            else:
                value = data.draw(texts)
                model[group].append(value)
                rows.append((group, value, 1))
        slots = np.array([row[0] for row in rows], np.int64)
        signs = np.array([row[2] for row in rows], np.int8)
        before = tuple(column.copy() for column in held)
        expected_before = state.value(EVERY, before).to_pylist()
        state.accumulate(slots, held, [pa.array([r[1] for r in rows], pa.string())], signs)
        assert state.value(EVERY, before).to_pylist() == expected_before, "an abort goes back"
    found = state.value(EVERY, held).to_pylist()
    if name == "COLLECT":
        found = [dict(pairs) for pairs in found]
    assert found == [NAMES[name, options](values) for values in model]


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("TIMESTAMP(9)", [1, None, 1_700_000_000_123_456_789]),
        ("DATE", [0, 19_000, None]),
        ("BOOLEAN", [True, None, False]),
        ("DECIMAL(5, 2)", ["1.25", None, "1.25"]),
        ("DOUBLE", [float("nan"), float("nan"), 0.5]),
        ("ARRAY<INT>", [[1, 2], None, [1, 2]]),
    ],
)
def test_values_of_every_type_come_back(kind: str, values: list[Any]) -> None:
    arrow = arrow_type(parse_type(kind))
    column = pa.array(values, {"TIMESTAMP(9)": pa.int64(), "DATE": pa.int32()}.get(kind)).cast(
        arrow
    )
    state = made("ARRAY_AGG", None, kind)
    held = empty(state)
    slots = np.zeros(3, np.int64)
    state.accumulate(slots, held, [column])
    assert str(state.value(EVERY[:1], held)[0].values) == str(column)
    state.accumulate(slots[:1], held, [column[:1]], np.array([-1], np.int8))
    assert str(state.value(EVERY[:1], held)[0].values) == str(column[1:])


def test_nested_and_approximate_values_are_counted() -> None:
    nan = float("nan")
    state = made("COLLECT", None, "DOUBLE")
    held = empty(state)
    state.accumulate(np.zeros(3, np.int64), held, [pa.array([nan, 1.0, nan])])
    assert str(state.value(EVERY[:1], held).to_pylist()) == "[[(nan, 2), (1.0, 1)]]"


def test_groups_are_put_together_in_order() -> None:
    state = made("LISTAGG", None, "STRING", "STRING")
    one, two = empty(state), empty(state)
    text = pa.array(["a", "b"])
    separator = pa.array(["; ", "; "])
    state.accumulate(np.array([0, 1]), one, [text, separator])
    state.accumulate(np.array([0, 2]), two, [text, separator])
    state.merge(np.array([0, 0]), one, np.array([0, 2]), two)
    assert state.value(EVERY, one).to_pylist() == ["a; a; b", "b", None]


def test_keys_of_a_json_object() -> None:
    state = made(
        "JSON_OBJECTAGG",
        ABSENT_ON_NULL,
        "STRING",
        "BIGINT",
    )
    held = empty(state)
    state.accumulate(
        np.zeros(3, np.int64), held, [pa.array(["b", "a", "x"]), pa.array([1, 2, None])]
    )
    assert state.value(EVERY, held).to_pylist() == ['{"a":2,"b":1}', "{}", "{}"]
    state.accumulate(np.array([1, 1, 2]), held, [pa.array(["b", "b", None]), pa.array([1, 2, 3])])
    with pytest.raises(JobExecutionError, match="key 'b' more than once"):
        state.value(EVERY[1:2], held)
    with pytest.raises(JobExecutionError, match="key that is NULL"):
        state.value(EVERY[2:], held)
