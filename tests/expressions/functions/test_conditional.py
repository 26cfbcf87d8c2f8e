"""Conditional functions over columns."""

from __future__ import annotations

import pyarrow as pa

from millrace.common.types.logical.logical_type import IntType, NullType, RowType, VarCharType
from millrace.expressions import registry
from millrace.expressions.evaluation import compiled
from millrace.expressions.registry import resolve_call
from millrace.expressions.resolved import FieldReference, ValueLiteral

VALUE = FieldReference(0, IntType(), "v")
ROW = RowType.of(("v", IntType()))


def test_greatest_is_null_if_one_argument_is() -> None:
    call = resolve_call(
        registry.function("GREATEST"), (VALUE, ValueLiteral(2, IntType(nullable=False)))
    )
    batch = pa.record_batch({"v": pa.array([1, None, 3], pa.int32())})
    assert compiled(call, ROW)(batch).to_pylist() == [2, None, 3]


def test_case_without_else_is_null() -> None:
    small = resolve_call(registry.function("<"), (VALUE, ValueLiteral(2, IntType(nullable=False))))
    text = ValueLiteral("small", VarCharType(nullable=False))
    call = resolve_call(registry.function("CASE"), (small, text, ValueLiteral(None, NullType())))
    batch = pa.record_batch({"v": pa.array([1, None, 3], pa.int32())})
    assert compiled(call, ROW)(batch).to_pylist() == ["small", None, None]
