"""Checks of values that Arrow accepts but the column's type forbids, such as a text that is too
long."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from millrace.common.errors import JobExecutionError
from millrace.common.types.logical import logical_type as logical
from millrace.common.types.logical.logical_type import LogicalType, RowType
from millrace.table_runtime.columns import ColumnConversion

__all__ = ["ElementError", "verify_values"]

_TEXTS = (logical.CharType, logical.VarCharType)
_BYTES = (logical.BinaryType, logical.VarBinaryType)
_TIMES = (
    logical.DateType,
    logical.TimeType,
    logical.TimestampType,
    logical.LocalZonedTimestampType,
    logical.DayTimeIntervalType,
)


class ElementError(JobExecutionError, TypeError, ValueError):
    """A value does not fit its column. PyFlink raises a TypeError or a ValueError for it."""


def verify_values(row_type: RowType, elements: Sequence[Any], data: Any) -> None:
    """Raise ElementError for values that Arrow accepts but the column's type forbids.

    Args:
        elements: the values, as Python objects of the program.
        data: the same values as a record batch.

    Raises:
        ElementError: a text or bytes are too long, None stands where NOT NULL is declared, at any
            depth, or a number where a time is.
    """
    of_fields = ColumnConversion(row_type).fields(elements)
    for field, values, column in zip(row_type, of_fields, data.columns, strict=True):
        if column.null_count and not field.type.is_nullable:
            number = 1 + column.is_null().index(True).as_py()
            raise ElementError(
                f"element {number} has None in the column {field.name!r}, which is of "
                f"type {field.type}; give a value, or make the type nullable()"
            )
        if isinstance(field.type, _TIMES):
            _verify_times(field.name, field.type, values)
        _verify(field.type, column.drop_null(), f"the column {field.name!r}")


def _verify_times(name: str, kind: LogicalType, values: Sequence[Any]) -> None:
    for number, value in enumerate(values, start=1):
        if isinstance(value, (int, float)):
            raise ElementError(
                f"element {number} has the number {value!r} in the column {name!r}, which "
                f"is of type {kind}; give a value of the module datetime"
            )


def _verify(kind: LogicalType, column: Any, where: str) -> None:
    """Check that the values of a column without NULL fit the column's type."""
    import pyarrow.compute as pc

    if isinstance(kind, (*_TEXTS, *_BYTES)):
        if kind.length < logical.MAX_LENGTH and len(column):
            is_text = isinstance(kind, _TEXTS)
            lengths = (pc.utf8_length if is_text else pc.binary_length)(column)
            longest = pc.max(lengths).as_py()
            if longest > kind.length:
                value = column[lengths.index(longest).as_py()].as_py()
                raise ElementError(f"{value!r} is too long for {where}, which is of type {kind}")
    elif isinstance(kind, logical.MapType):
        _verify_inner(kind.key_type, column.keys, f"a key of {where}")
        _verify_inner(kind.value_type, column.items, f"a value of {where}")
    elif isinstance(kind, logical.ArrayType) and not isinstance(kind, logical.MultisetType):
        _verify_inner(kind.element_type, column.flatten(), f"an item of {where}")
    elif isinstance(kind, RowType):
        for field, inner in zip(kind, column.flatten(), strict=True):
            _verify_inner(field.type, inner, f"the field {field.name!r} of {where}")


def _verify_inner(kind: LogicalType, column: Any, where: str) -> None:
    if column.null_count and not kind.is_nullable:
        raise ElementError(
            f"None is not allowed for {where}, which is of type {kind}; give a value, or make "
            "the type nullable()"
        )
    _verify(kind, column.drop_null(), where)
