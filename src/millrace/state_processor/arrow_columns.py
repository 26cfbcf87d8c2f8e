"""Values as Arrow columns, for Spark."""

from __future__ import annotations

import datetime as dt
import enum
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import islice
from typing import Any

from millrace.common.errors import StateError
from millrace.common.types.json_values import json_text
from millrace.state_processor.column_type import (
    Column,
    ColumnType,
    field_values,
    fits,
    plain_scalar,
    type_of,
)

__all__ = ["BATCH_ROWS", "arrow_batches"]

BATCH_ROWS = 4096
"""Rows in one Arrow batch."""

Row = Sequence[Any]
Converter = Callable[[Any], Any]


def arrow_batches(columns: Sequence[Column], rows: Iterable[Row]) -> Iterator[Any]:
    """The rows as batches of Arrow.

    Raises:
        StateError: a value does not fit the type of its column.
    """
    import pyarrow as pa

    schema = pa.schema([(column.name, arrow_type(pa, column.type)) for column in columns])
    converters = [_checked(column) for column in columns]
    remaining = iter(rows)
    while batch := list(islice(remaining, BATCH_ROWS)):
        values = zip(*batch, strict=True)
        arrays = [
            pa.array(list(map(convert, column)), field.type)
            for convert, column, field in zip(converters, values, schema, strict=True)
        ]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def arrow_type(pa: Any, kind: ColumnType) -> Any:
    """The Arrow type that Spark takes for a type of its own."""
    if kind.name == "array":
        return pa.list_(arrow_type(pa, kind.parts[0]))
    if kind.name == "map":
        return pa.map_(*(arrow_type(pa, part) for part in kind.parts))
    if kind.name == "struct":
        types = [arrow_type(pa, part) for part in kind.parts]
        return pa.struct(list(zip(kind.fields, types, strict=True)))
    return _plain_types(pa).get(kind.name, pa.string())


def _plain_types(pa: Any) -> dict[str, Any]:
    return {
        "boolean": pa.bool_(),
        "bigint": pa.int64(),
        "wide": pa.int64(),
        "double": pa.float64(),
        "binary": pa.binary(),
        "decimal": pa.decimal128(38, 18),
        "date": pa.date32(),
        "timestamp": pa.timestamp("us", "UTC"),
        "timestamp_ntz": pa.timestamp("us"),
        "interval": pa.duration("us"),
    }


def _checked(column: Column) -> Converter:
    """Converts the values of a column, and names it when one does not fit."""
    convert = converter(column.type)

    def checked(value: Any) -> Any:
        try:
            return convert(value)
        except _MisfitError:
            raise StateError(
                f"column '{column.name}' is {column.type.ddl}, as the entries looked at first were "
                f"or as was declared, but an entry has {_short(value)}; let all entries be looked "
                "at (sample=None), or give the column another type"
            ) from None

    return checked


class _MisfitError(Exception):
    """A value is of another type than its column."""


def converter(kind: ColumnType) -> Converter:
    """Turns a value of that type into what Arrow takes; None stays None."""
    if kind.name in ("json", "null"):
        return lambda value: None if value is None else json_text(value)
    if kind.name == "array":
        return _array(converter(kind.parts[0]))
    if kind.name == "map":
        return _map(*map(converter, kind.parts))
    if kind.name == "struct":
        return _struct(dict(zip(kind.fields, map(converter, kind.parts), strict=True)))
    return _plain(kind)


def _plain(kind: ColumnType) -> Converter:
    shape = _SHAPES.get(kind.name, _same)

    def convert(value: Any) -> Any:
        if value is None:
            return None
        if not fits(type_of(value), kind):
            raise _MisfitError
        return shape(value)

    return convert


def _same(value: Any) -> Any:
    scalar = plain_scalar(value)
    return value if scalar is None else scalar


def _float(value: Any) -> float:
    return float(_same(value))


def _decimal(value: Any) -> Decimal:
    return Decimal(_same(value))


def _text(value: Any) -> str:
    if isinstance(value, enum.Enum):
        return value.name
    return value.isoformat() if isinstance(value, dt.time) else str(value)


_SHAPES: dict[str, Converter] = {"double": _float, "decimal": _decimal, "text": _text}


def _array(element: Converter) -> Converter:
    def convert(value: Any) -> Any:
        if value is None:
            return None
        if type_of(value).name != "array":
            raise _MisfitError
        return list(map(element, _same(value)))

    return convert


def _map(key: Converter, item: Converter) -> Converter:
    def convert(value: Any) -> Any:
        if value is None:
            return None
        if not isinstance(value, Mapping):
            raise _MisfitError
        return [(key(name), item(entry)) for name, entry in value.items()]

    return convert


def _struct(fields: dict[str, Converter]) -> Converter:
    def convert(value: Any) -> Any:
        if value is None:
            return None
        found = dict(value) if isinstance(value, Mapping) else _named(value)
        if not found.keys() <= fields.keys():
            raise _MisfitError
        return {name: part(found.get(name)) for name, part in fields.items()}

    return convert


def _named(value: Any) -> dict[str, Any]:
    named = field_values(value)
    if named is None:
        raise _MisfitError
    return dict(zip(*named, strict=True))


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
