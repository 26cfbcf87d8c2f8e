"""Columns of logical types, and values as their Arrow arrays, for Spark.

What Spark has no type for is text there; numbers are as wide as they come.
"""

from __future__ import annotations

import datetime as dt
import enum
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice
from typing import Any

from millrace.common.errors import StateError
from millrace.common.types.inferred_type import JSON, NULL, WIDE, fits, plain_scalar
from millrace.common.types.json_values import json_text
from millrace.common.types.logical import logical_type as logical
from millrace.common.types.logical.arrow_type import arrow_type
from millrace.common.types.logical.logical_type import LogicalType, quoted, rewritten
from millrace.common.types.logical.spark_type import spark_ddl
from millrace.common.types.record_fields import named_fields
from millrace.common.types.type_information import TypeInformation

__all__ = ["BATCH_ROWS", "Column", "arrow_batches", "column_type", "has_json"]

BATCH_ROWS = 4096
"""Rows in one Arrow batch."""

Row = Sequence[Any]
Converter = Callable[[Any], Any]
_BIGINT, _DOUBLE, _STRING = logical.BigIntType(), logical.DoubleType(), logical.VarCharType()
_AS_THEY_ARE = (
    logical.ArrayType,
    logical.BooleanType,
    logical.DateType,
    logical.DoubleType,
    logical.MapType,
    logical.RowType,
    logical.VarBinaryType,
)


def column_type(info: TypeInformation[Any]) -> LogicalType | None:
    """The type of a column of a declared type; None: it has to be found from the values."""
    kind = rewritten(info.logical_type, _widened)
    return None if has_json(kind) else kind


def _widened(kind: LogicalType) -> LogicalType:
    if isinstance(kind, logical.IntegralType):
        return _BIGINT
    if isinstance(kind, logical.FloatType):
        return _DOUBLE
    if isinstance(kind, (logical.CharType, logical.VarCharType, logical.TimeType)):
        return _STRING
    return kind.with_nullable(True) if type(kind) in _AS_THEY_ARE else JSON


def has_json(kind: LogicalType) -> bool:
    """Whether something in it is kept as the text of a JSON document."""
    return kind == JSON or any(map(has_json, kind.children()))


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a DataFrame."""

    name: str
    type: LogicalType

    @property
    def stored(self) -> LogicalType:
        """The type that it has in Spark."""
        return rewritten(self.type, _stored)

    @property
    def ddl(self) -> str:
        """As in Spark's DDL; a comment says where there is JSON."""
        comment = " COMMENT 'JSON'" if has_json(self.type) else ""
        return f"{quoted(self.name)} {spark_ddl(self.stored)}{comment}"


def _stored(kind: LogicalType) -> LogicalType:
    if kind in (JSON, NULL):
        return _STRING
    return _BIGINT if kind == WIDE else kind


def arrow_batches(columns: Sequence[Column], rows: Iterable[Row]) -> Iterator[Any]:
    """The rows as batches of Arrow.

    Raises:
        StateError: a value does not fit the type of its column.
    """
    import pyarrow as pa

    schema = pa.schema([(column.name, arrow_type(column.stored)) for column in columns])
    converters = [_checked(column) for column in columns]
    remaining = iter(rows)
    while batch := list(islice(remaining, BATCH_ROWS)):
        values = zip(*batch, strict=True)
        arrays = [
            pa.array(list(map(convert, column)), field.type)
            for convert, column, field in zip(converters, values, schema, strict=True)
        ]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def _checked(column: Column) -> Converter:
    """Converts the values of a column, and names it when one does not fit."""
    convert = converter(column.type)

    def checked(value: Any) -> Any:
        try:
            return convert(value)
        except _MisfitError:
            raise StateError(
                f"column '{column.name}' is {spark_ddl(column.stored)}, as the entries looked at "
                f"first were or as was declared, but an entry has {_short(value)}; let all entries "
                "be looked at (sample=None), or give the column another type"
            ) from None

    return checked


class _MisfitError(Exception):
    """A value is of another type than its column."""


def converter(kind: LogicalType) -> Converter:
    """Turns a value of that type into what Arrow takes; None stays None."""
    convert = _converter(kind)
    return lambda value: None if value is None else convert(value)


def _converter(kind: LogicalType) -> Converter:
    if kind in (JSON, NULL):
        return json_text
    if isinstance(kind, logical.ArrayType):
        return _array(converter(kind.element_type))
    if isinstance(kind, logical.MapType):
        return _map(converter(kind.key_type), converter(kind.value_type))
    if isinstance(kind, logical.RowType):
        return _struct({field.name: converter(field.type) for field in kind})
    shape = _SHAPES.get(kind, _same)

    def convert(value: Any) -> Any:
        if not fits(value, kind):
            raise _MisfitError
        return shape(value)

    return convert


def _same(value: Any) -> Any:
    scalar = plain_scalar(value)
    return value if scalar is None else scalar


def _text(value: Any) -> str:
    if isinstance(value, enum.Enum):
        return value.name
    return value.isoformat() if isinstance(value, dt.time) else str(value)


_SHAPES: dict[LogicalType, Converter] = {
    _DOUBLE: lambda value: float(_same(value)),
    logical.DecimalType(38, 18): lambda value: Decimal(_same(value)),
    _STRING: _text,
}


def _array(element: Converter) -> Converter:
    def convert(value: Any) -> Any:
        values = _same(value)
        if not isinstance(values, (list, tuple, set, frozenset, array)):
            raise _MisfitError
        return list(map(element, values))

    return convert


def _map(key: Converter, item: Converter) -> Converter:
    def convert(value: Any) -> Any:
        if not isinstance(value, Mapping):
            raise _MisfitError
        return [(key(name), item(entry)) for name, entry in value.items()]

    return convert


def _struct(fields: dict[str, Converter]) -> Converter:
    def convert(value: Any) -> Any:
        found = dict(value) if isinstance(value, Mapping) else _named(value)
        if not found.keys() <= fields.keys():
            raise _MisfitError
        return {name: part(found.get(name)) for name, part in fields.items()}

    return convert


def _named(value: Any) -> dict[str, Any]:
    named = named_fields(value)
    if named is None:
        raise _MisfitError
    return dict(zip(*named, strict=True))


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
