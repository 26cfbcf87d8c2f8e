"""Columns as cells of a printed table."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from zoneinfo import ZoneInfo

from millrace.common.types.logical import logical_type as logical
from millrace.common.types.logical.logical_type import LogicalType, RowType
from millrace.common.types.row import Row
from millrace.expressions.bitmap_values import bitmap_text
from millrace.expressions.casting.text_of import float_text
from millrace.table_runtime.row_text import number_text

__all__ = ["cells"]

NULL_CELL = "<NULL>"


def cells(values: Sequence[Any], kind: LogicalType, time_zone: str) -> list[str]:
    """The values of a column (of `python_values`) as `TableResult.print` shows them: cast to
    text, points in time in a time zone."""
    zone = ZoneInfo(time_zone)
    return [NULL_CELL if value is None else _cell(value, kind, zone) for value in values]


def _cell(value: Any, kind: LogicalType, zone: ZoneInfo) -> str:
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(kind, (logical.TimestampType, logical.LocalZonedTimestampType)):
        local = value if value.tzinfo is None else value.astimezone(zone)
        text = local.replace(tzinfo=None).isoformat(" ", "seconds")
        nanos = value.microsecond * 1000 + getattr(value, "nanosecond", 0)
        return _fraction(text, nanos, kind.precision)
    if isinstance(kind, logical.TimeType):
        text = value.isoformat("seconds")
        return _fraction(text, value.microsecond * 1000, kind.precision)
    if isinstance(value, (Row, list, tuple, dict)):
        return _nested_cell(value, kind, zone)
    if isinstance(value, bytes):
        return bitmap_text(value) if isinstance(kind, logical.BitmapType) else f"x'{value.hex()}'"
    if isinstance(value, timedelta):
        return _day_time(value)
    if isinstance(kind, logical.YearMonthIntervalType):
        sign, months = ("-" if value < 0 else "+"), abs(value)
        return f"{sign}{months // 12}-{months % 12:02}"
    if isinstance(kind, logical.FloatType):
        return float_text(value)
    return number_text(value)


def _nested_cell(value: Any, kind: LogicalType, zone: ZoneInfo) -> str:
    if isinstance(kind, RowType):
        inner = (
            _inner(item, field.type, zone) for item, field in zip(value, kind.fields, strict=True)
        )
        return f"({', '.join(inner)})"
    if isinstance(kind, logical.MultisetType):
        return _map_cell(value, kind.element_type, logical.IntType(), zone)
    if isinstance(kind, logical.ArrayType):
        return f"[{', '.join(_inner(item, kind.element_type, zone) for item in value)}]"
    assert isinstance(kind, logical.MapType)
    return _map_cell(value, kind.key_type, kind.value_type, zone)


def _inner(value: Any, kind: LogicalType, zone: ZoneInfo) -> str:
    return "NULL" if value is None else _cell(value, kind, zone)


def _map_cell(value: dict[Any, Any], key: LogicalType, item: LogicalType, zone: ZoneInfo) -> str:
    pairs = (f"{_inner(k, key, zone)}={_inner(v, item, zone)}" for k, v in value.items())
    return f"{{{', '.join(pairs)}}}"


def _fraction(text: str, nanosecond: int, precision: int) -> str:
    return f"{text}.{f'{nanosecond:09}'[:precision]}" if precision else text


def _day_time(value: timedelta) -> str:
    sign = "-" if value < timedelta(0) else "+"
    value = abs(value)
    seconds, micros = value.seconds, value.microseconds
    clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return f"{sign}{value.days} {clock}.{micros // 1000:03}"
