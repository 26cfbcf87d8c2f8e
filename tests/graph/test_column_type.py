"""Types of columns: inferred, declared, and values that come back as they were."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.common.errors import JobDefinitionError, SerializationError
from millrace.common.types import Row
from millrace.common.types.typeinfo import Types
from millrace.graph.column_type import (
    NULL,
    PICKLED,
    column_type_of_arrow,
    declared_column_type,
    inferred_column_type,
    result_type,
)


class Point(NamedTuple):
    x: int
    y: float


@dataclass(frozen=True)
class Account:
    name: str
    limit: int


SCALARS = st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1), st.text(max_size=5), st.booleans())
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.tuples(inner, inner)),
    max_leaves=6,
)


@given(st.lists(VALUES, max_size=5))
def test_inferred_types_hold_all_values(values: list[Any]) -> None:
    kind = inferred_column_type(values)
    back = kind.decode(kind.encode(values))
    assert back == values
    assert [type(value) for value in back] == [type(value) for value in values]


@pytest.mark.parametrize(
    ("values", "name"),
    [
        ([1, None], "LONG"),
        ([1, 2.5], "DOUBLE"),
        ([True], "BOOLEAN"),
        ([None], "NONE"),
        ([], "NONE"),
        ([np.int32(3)], "LONG"),
        ([{"a": [1]}], "MAP(STRING, LIST(LONG))"),
        ([Point(1, 2.0)], "Point(x: LONG, y: DOUBLE)"),
        ([Account("a", 1)], "Account(name: STRING, limit: LONG)"),
        ([Decimal("1.5")], "BIG_DEC"),
        ([date(2026, 1, 2)], "SQL_DATE"),
        ([datetime(2026, 1, 2)], "SQL_TIMESTAMP"),
        ([Row(a=1, b="x")], "ROW(a: LONG, b: STRING)"),
        ([2**70], "PICKLED_BYTE_ARRAY"),
        ([{1, 2}, "a"], "PICKLED_BYTE_ARRAY"),
        ([(1, 2), (1,)], "PICKLED_BYTE_ARRAY"),
    ],
    ids=range(16),
)
def test_names_of_inferred_types(values: list[Any], name: str) -> None:
    kind = inferred_column_type(values)
    assert str(kind) == name
    if not any(isinstance(value, np.generic) for value in values):
        assert kind.decode(kind.encode(values)) == values


def test_declared_types() -> None:
    for declared in (Types.LONG(), "BIGINT", int):
        assert declared_column_type(declared).arrow == pa.int64()
    assert declared_column_type(tuple[int, str]).arrow == pa.struct(
        [("f0", pa.int64()), ("f1", pa.string())]
    )
    with pytest.raises(JobDefinitionError):
        declared_column_type(object())


def test_types_of_results() -> None:
    class Scale:
        def __call__(self, value: int) -> float:
            return value * 0.5

    def untyped(value): ...  # type: ignore[no-untyped-def]

    assert str(result_type(Scale(), None)) == "DOUBLE"
    assert result_type(untyped, None) == PICKLED
    assert str(result_type(untyped, "INT")) == "INT"


def test_structs_of_dataframes_are_rows() -> None:
    kind = column_type_of_arrow(pa.struct([("a", pa.int32())]))
    assert kind.decode(pa.array([{"a": 1}], kind.arrow)) == [Row(a=1)]
    assert column_type_of_arrow(pa.null()).arrow == NULL.arrow


def test_misfits_are_shown() -> None:
    with pytest.raises(SerializationError, match="'x'"):
        declared_column_type(int).encode([1, "x"])
    with pytest.raises(SerializationError, match="does not fit a column of INT"):
        declared_column_type("INT").encode(["x"])
