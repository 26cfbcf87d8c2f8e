"""Arithmetic of decimals with as many digits as a type can have."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

import pyarrow as pa
import pytest

from millrace.common.types.logical.logical_type import DecimalType, RowType
from millrace.expressions import registry
from millrace.expressions.evaluation import compiled
from millrace.expressions.registry import resolve_call
from millrace.expressions.resolved import FieldReference, ResolvedExpression

NINES = 10**38 - 1


@pytest.mark.parametrize(
    ("digits", "product"),
    [(NINES, NINES), (-NINES, -NINES), (NINES // 10, NINES // 10), (10**37 + 1, 10**37 + 1)],
)
def test_products_of_38_digits(
    read: Callable[[str], ResolvedExpression], digits: int, product: int
) -> None:
    kind = DecimalType(38, 0)
    one = resolve_call(
        registry.function("*"), (FieldReference(0, kind, "d"), read("CAST(1 AS DECIMAL(38, 0))"))
    )
    batch = pa.record_batch({"d": pa.array([Decimal(digits), None], pa.decimal128(38, 0))})
    assert compiled(one, RowType.of(("d", kind)))(batch).to_pylist() == [Decimal(product), None]


def test_a_product_of_39_digits_is_null(read: Callable[[str], ResolvedExpression]) -> None:
    kind = DecimalType(38, 0)
    ten = resolve_call(
        registry.function("*"), (FieldReference(0, kind, "d"), read("CAST(10 AS DECIMAL(38, 0))"))
    )
    batch = pa.record_batch({"d": pa.array([Decimal(10**37), Decimal(5)], pa.decimal128(38, 0))})
    assert compiled(ten, RowType.of(("d", kind)))(batch).to_pylist() == [None, Decimal(50)]
