"""Columns as rows of Python values, and rows as the text that the connector ``print`` prints."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from datetime import time as time_of_day
from decimal import Decimal
from typing import Any

from millrace.common.types.batch import ColumnBatch
from millrace.common.types.logical import logical_type as logical
from millrace.common.types.logical.logical_type import LogicalType, RowType
from millrace.common.types.logical.python_values import python_values
from millrace.common.types.row import Row, named_row
from millrace.expressions.casting.text_of import double_text, float_text

__all__ = ["number_text", "python_rows", "row_text"]


def python_rows(data: Any, kinds: Any, row_type: RowType) -> list[Row]:
    """The rows of a record batch, with names and kinds."""
    columns = [
        python_values(column, field.type)
        for column, field in zip(data.columns, row_type.fields, strict=True)
    ]
    numbers = [0] * data.num_rows if kinds is None else kinds.to_pylist()
    rows = zip(*columns, strict=True) if columns else ([()] * data.num_rows)
    return [named_row(row_type.names, row, kind) for row, kind in zip(rows, numbers, strict=True)]


def row_text(batch: ColumnBatch, row_type: RowType) -> Iterator[str]:
    """Rows as text in the form of Flink's ``Row``: ``+I[1, a]``."""
    for row in python_rows(batch.data, batch.row_kinds, row_type):
        yield _of_row(row, row_type)


def _of_row(row: Row, row_type: RowType) -> str:
    kind = row.get_row_kind()
    values = (_java_text(value, field.type) for value, field in zip(row, row_type, strict=True))
    return f"{kind}[{', '.join(values)}]"


def _java_text(value: Any, kind: LogicalType) -> str:
    """Text of a value, as its Java object in Flink prints it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(kind, RowType):
        return _of_row(value, kind)
    if isinstance(kind, logical.MapType | logical.MultisetType):
        return _map_text(value, kind)
    if isinstance(kind, logical.ArrayType):
        return f"[{', '.join(_java_text(item, kind.element_type) for item in value)}]"
    if isinstance(value, datetime):
        if value.tzinfo is not None:
            text = value.astimezone(UTC).replace(tzinfo=None)
            return (
                f"{_with_nanos(value, text) or text.isoformat(timespec=_digits(text.microsecond))}Z"
            )
        return _with_nanos(value, value) or _without_zero_seconds(value)
    if isinstance(value, time_of_day):
        return _without_zero_seconds(value)
    if isinstance(value, bytes):
        return f"[{', '.join(str(byte - 256 if byte > 127 else byte) for byte in value)}]"
    if isinstance(kind, logical.FloatType):
        return float_text(value)
    return number_text(value)


def _map_text(value: dict[Any, Any], kind: logical.MapType | logical.MultisetType) -> str:
    if isinstance(kind, logical.MapType):
        of_key, of_item = kind.key_type, kind.value_type
    else:
        of_key, of_item = kind.element_type, logical.IntType()
    pairs = (f"{_java_text(key, of_key)}={_java_text(value[key], of_item)}" for key in value)
    return f"{{{', '.join(pairs)}}}"


def _without_zero_seconds(value: datetime | time_of_day) -> str:
    if value.second == 0 and value.microsecond == 0:
        return value.isoformat(timespec="minutes")
    return value.isoformat(timespec=_digits(value.microsecond))


def _with_nanos(value: datetime, shown: datetime) -> str:
    """Text of a time with nine fraction digits if it has nanoseconds; otherwise an empty text."""
    rest = getattr(value, "nanosecond", 0)
    return f"{shown.isoformat(timespec='microseconds')}{rest:03d}" if rest else ""


def _digits(microsecond: int) -> str:
    if microsecond == 0:
        return "seconds"
    return "milliseconds" if microsecond % 1000 == 0 else "microseconds"


def number_text(value: Any) -> str:
    """Text of a number, or of a value whose text is the same everywhere."""
    if isinstance(value, float):
        return double_text(value)
    return format(value, "f") if isinstance(value, Decimal) else str(value)
