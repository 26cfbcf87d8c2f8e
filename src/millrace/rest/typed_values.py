"""JSON of values (`to_json`) as the values of a declared type."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from millrace.common.time.amounts import Instant
from millrace.common.types.row import named_row
from millrace.common.types.typeinfo import (
    BasicTypeInfo,
    BigDecTypeInfo,
    DateTypeInfo,
    InstantTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    RowTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TupleTypeInfo,
    TypeInformation,
)
from millrace.rest.key_text import untagged

__all__ = ["typed_value"]


def typed_value(type_info: TypeInformation[Any], value: Any) -> Any:
    """The value that parsed JSON stands for. Without a declared type it stays lists and dicts.

    Example:
        >>> from millrace.common.types.typeinfo import Types
        >>> typed_value(Types.TUPLE([Types.STRING(), Types.SQL_DATE()]), ["a", "2026-11-21"])
        ('a', datetime.date(2026, 11, 21))
    """
    if value is None:
        return None
    if isinstance(type_info, MapTypeInfo):
        return _map(type_info, value)
    if isinstance(type_info, RowTypeInfo):
        return _row(type_info, value)
    if isinstance(type_info, TupleTypeInfo):
        return tuple(_fields(type_info.types, value))
    if isinstance(type_info, ListTypeInfo) and isinstance(value, list):
        return [typed_value(type_info.element_type, item) for item in value]
    reader = _READERS.get(type(type_info))
    return untagged(value) if reader is None else reader(value)


def _map(type_info: MapTypeInfo, value: dict[str, Any]) -> dict[Any, Any]:
    pairs = value["map"] if list(value) == ["map"] else value.items()
    key_type, value_type = type_info.key_type, type_info.value_type
    return {_key(key_type, key): typed_value(value_type, item) for key, item in pairs}


def _key(key_type: TypeInformation[Any], key: Any) -> Any:
    typed = typed_value(key_type, key)
    return tuple(typed) if isinstance(typed, list) else typed


def _row(type_info: RowTypeInfo, value: Any) -> Any:
    if isinstance(value, dict):
        value = [value.get(name) for name in type_info.get_field_names()]
    return named_row(type_info.field_names, _fields(type_info.types, value))


def _fields(types: Sequence[TypeInformation[Any]], values: Sequence[Any]) -> list[Any]:
    return [typed_value(field, item) for field, item in zip(types, values, strict=True)]


_READERS: dict[type[TypeInformation[Any]], Any] = {
    BigDecTypeInfo: Decimal,
    DateTypeInfo: dt.date.fromisoformat,
    TimeTypeInfo: dt.time.fromisoformat,
    TimestampTypeInfo: dt.datetime.fromisoformat,
    InstantTypeInfo: lambda value: Instant(value["seconds"], value["nanos"]),
    BasicTypeInfo: untagged,
}
