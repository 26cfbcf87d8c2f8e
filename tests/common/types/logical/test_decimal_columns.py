"""Decimals in columns: rounded and null as in Flink, in every kind of nesting."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.common.types.batch import Batch, ColumnBatch, RowBatch
from millrace.common.types.logical.fitted_decimal import decimal_fitter
from millrace.common.types.logical.logical_type import BigIntType, DecimalType, RowType
from millrace.common.types.logical.parser import parse_type
from millrace.common.types.logical.python_values import arrow_column, python_values
from millrace.table_runtime.columns import ColumnConversion

D = Decimal


@pytest.mark.parametrize(
    ("given_", "value"),
    [
        ("1.255", "1.26"),
        ("-0.005", "-0.01"),
        ("-0.0049", "0.00"),
        ("1E+2", "100.00"),
        ("999.994", "999.99"),
        ("999.995", None),
        ("1000", None),
        ("1E+999999999", None),
        ("1E-999999999", "0.00"),
        ("0E-999999999", "0.00"),
        ("1E-60", "0.00"),
        ("1." + "0" * 30 + "1", "1.00"),
        ("1." + "0" * 300 + "1", "1.00"),
    ],
)
def test_decimals_fit_their_column(given_: str, value: str | None) -> None:
    column = arrow_column([D(given_), None], DecimalType(5, 2))
    assert column.to_pylist() == [value and D(value), None]


@pytest.mark.parametrize(
    ("kind", "value", "fits"),
    [
        ("ARRAY<DECIMAL(3, 1)>", [D("1.25"), D(100), None], [D("1.3"), None, None]),
        ("MAP<STRING, DECIMAL(3, 1)>", {"a": D("1.25")}, {"a": D("1.3")}),
        ("ROW<a DECIMAL(3, 1), b ARRAY<DECIMAL(3, 0)>>", (D("1.25"), [D("1.5")]), (D("1.3"), [2])),
    ],
)
def test_decimals_fit_within_other_values(kind: str, value: Any, fits: Any) -> None:
    parsed = parse_type(kind)
    (found,) = python_values(arrow_column([value], parsed), parsed)
    assert (tuple(found) if isinstance(value, tuple) else found) == fits


@given(st.decimals(allow_nan=False, allow_infinity=False), st.integers(1, 38), st.data())
def test_a_fitted_decimal_is_a_value_of_its_type(
    value: Decimal, precision: int, data: st.DataObject
) -> None:
    """And no further from the value than half of the last digit."""
    kind = DecimalType(precision, data.draw(st.integers(0, precision)))
    found = decimal_fitter(kind)(value)
    assert arrow_column([value], kind).to_pylist() == [found]
    if found is not None:
        assert pa.array([found], pa.decimal128(precision, kind.scale))
        assert abs(found - value) <= D(5).scaleb(-kind.scale - 1) + abs(value) * D("1e-25")


@pytest.mark.parametrize("value", [D("NaN"), D("Infinity"), "x"])
def test_what_is_no_decimal_does_not_fit(value: Any) -> None:
    with pytest.raises((pa.ArrowException, TypeError, ValueError)):
        arrow_column([value], DecimalType(5, 2))


@pytest.mark.parametrize("value", [D("1E+999999999"), D("1.5"), float("inf"), float("nan")])
def test_integers_within_rows_are_whole_and_of_their_size(value: Any) -> None:
    """Python would make an integer of a gigabyte of the first."""
    with pytest.raises(ValueError, match="not an integer"):
        arrow_column([(value,)], RowType.of(("n", BigIntType())))


def test_sources_give_decimals_of_other_scales() -> None:
    """In columns and in rows."""
    convert = ColumnConversion(RowType.of(("a", DecimalType(5, 2))))
    values = [D("1.255"), D("1234.5")]
    batch: Batch
    for batch in (
        ColumnBatch(pa.record_batch({"a": pa.array(values, pa.decimal128(20, 5))})),
        RowBatch([{"a": value} for value in values]),
    ):
        assert convert(batch).data.to_pydict() == {"a": [D("1.26"), None]}
