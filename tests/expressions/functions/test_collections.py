"""Arrays, maps and rows over columns, with nulls."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from millrace.common.types.logical.arrow_type import arrow_schema
from millrace.common.types.logical.logical_type import IntType, LogicalType, RowType
from millrace.common.types.logical.parser import parse_type
from millrace.expressions import registry
from millrace.expressions.call_options import FieldPosition
from millrace.expressions.evaluation import compiled
from millrace.expressions.registry import resolve_call
from millrace.expressions.resolved import FieldReference, ResolvedExpression, ValueLiteral


def computed(expression: ResolvedExpression, kind: LogicalType, values: list[Any]) -> list[Any]:
    row = RowType.of(("f", kind))
    schema = arrow_schema(row)
    batch = pa.record_batch([pa.array(values, schema[0].type)], schema=schema)
    found: list[Any] = compiled(expression, row)(batch).to_pylist()
    return found


def field(text: str) -> tuple[FieldReference, LogicalType]:
    kind = parse_type(text)
    return FieldReference(0, kind, "f"), kind


def number(value: int) -> ValueLiteral:
    return ValueLiteral(value, IntType(nullable=False))


def test_an_array_is_made_of_columns_and_constants() -> None:
    value, kind = field("INT")
    made = resolve_call(registry.function("ARRAY"), (value, number(7)))
    assert computed(made, kind, [1, None]) == [[1, 7], [None, 7]]
    assert computed(
        resolve_call(registry.function("ITEM"), (made, number(1))), kind, [1, None]
    ) == [1, None]


def test_functions_of_null_are_null() -> None:
    value, kind = field("ARRAY<INT>")
    arrays = [[3, None, 1], None, []]
    assert computed(resolve_call(registry.function("CARDINALITY"), (value,)), kind, arrays) == [
        3,
        None,
        0,
    ]
    assert computed(resolve_call(registry.function("ARRAY_MAX"), (value,)), kind, arrays) == [
        3,
        None,
        None,
    ]
    contains = resolve_call(registry.function("ARRAY_CONTAINS"), (value, number(1)))
    assert computed(contains, kind, arrays) == [True, None, False]


def test_a_field_of_a_row_is_taken_by_position() -> None:
    value, kind = field("ROW<a INT NOT NULL, b STRING>")
    call = resolve_call(registry.function("GET"), (value,), FieldPosition(1))
    assert str(call.type) == "STRING"
    assert computed(call, kind, [{"a": 1, "b": "x"}, None]) == ["x", None]


def test_the_value_of_a_key() -> None:
    value, kind = field("MAP<STRING, INT>")
    key = ValueLiteral("a", parse_type("STRING NOT NULL"))
    found = computed(
        resolve_call(registry.function("ITEM"), (value, key)), kind, [[("a", 1)], [], None]
    )
    assert found == [1, None, None]
