"""Conversion of rows of state to Arrow batches, for Spark DataFrames.

A value for which Spark has no type becomes text. All integers become BIGINT and all floating-point
numbers DOUBLE, so that a column has the same type whatever the sizes of its values.
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
from millrace.common.types.inferred_type import JSON, NULL, WIDE_BIGINT, fits, numpy_to_python
from millrace.common.types.json_values import json_text
from millrace.common.types.logical import logical_type as logical
from millrace.common.types.logical.arrow_type import arrow_type
from millrace.common.types.logical.logical_type import LogicalType, quoted, rewritten
from millrace.common.types.logical.spark_type import spark_ddl
from millrace.common.types.record_fields import named_fields
from millrace.common.types.type_information import TypeInformation

__all__ = ["BATCH_ROWS", "FrameColumn", "arrow_batches", "column_type", "has_json"]

BATCH_ROWS = 4096
"""Rows in one Arrow batch."""

Row = Sequence[Any]
Converter = Callable[[Any], Any]
_BIGINT, _DOUBLE, _STRING = logical.BigIntType(), logical.DoubleType(), logical.VarCharType()
_WIDE_DECIMAL = logical.DecimalType(38, 18)
_EXACT = (_WIDE_DECIMAL, WIDE_BIGINT)
"""Decimals that are inferred from values."""
_UNCHANGED_TYPES = (  # logical types that a DataFrame's column keeps
    logical.ArrayType,
    logical.BooleanType,
    logical.DateType,
    logical.DoubleType,
    logical.MapType,
    logical.RowType,
    logical.VarBinaryType,
)


def column_type(info: TypeInformation[Any]) -> LogicalType | None:
    """The column type for a declared type; None if it must be inferred from the values."""
    kind = rewritten(info.logical_type, _widened)
    return None if has_json(kind) else kind


def _widened(kind: LogicalType) -> LogicalType:
    if isinstance(kind, logical.IntegralType):
        return _BIGINT
    if isinstance(kind, logical.FloatType):
        return _DOUBLE
    if isinstance(kind, (logical.CharType, logical.VarCharType, logical.TimeType)):
        return _STRING
    return kind.with_nullable(True) if type(kind) in _UNCHANGED_TYPES else JSON


def has_json(kind: LogicalType) -> bool:
    """Whether the type is JSON, or contains it at any depth."""
    return kind == JSON or any(map(has_json, kind.children()))


@dataclass(frozen=True, slots=True)
class FrameColumn:
    """The name and the logical type of a DataFrame's column."""

    name: str
    type: LogicalType

    @property
    def stored(self) -> LogicalType:
        """The type of the column in Spark, where JSON is a string."""
        return rewritten(self.type, _spark_type)

    @property
    def ddl(self) -> str:
        """The column in Spark's DDL; columns that contain JSON have the comment 'JSON'."""
        comment = " COMMENT 'JSON'" if has_json(self.type) else ""
        return f"{quoted(self.name)} {spark_ddl(self.stored)}{comment}"


def _spark_type(kind: LogicalType) -> LogicalType:
    if kind in (JSON, NULL):
        return _STRING
    return _BIGINT if kind == WIDE_BIGINT else kind


def arrow_batches(columns: Sequence[FrameColumn], rows: Iterable[Row]) -> Iterator[Any]:
    """Convert rows to Arrow record batches of up to `BATCH_ROWS` rows.

    Raises:
        StateError: a value does not fit the type of its column.
    """
    import pyarrow as pa

    schema = pa.schema([(column.name, arrow_type(column.stored)) for column in columns])
    converters = [_column_converter(column) for column in columns]
    remaining = iter(rows)
    while batch := list(islice(remaining, BATCH_ROWS)):
        values = zip(*batch, strict=True)
        arrays = [
            pa.array(list(map(convert, column)), field.type)
            for convert, column, field in zip(converters, values, schema, strict=True)
        ]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def _column_converter(column: FrameColumn) -> Converter:
    """The converter for a column's values; its errors name the column."""
    convert = converter(column.type)

    def convert_or_raise(value: Any) -> Any:
        try:
            return convert(value)
        except _MisfitError:
            raise StateError(
                f"column '{column.name}' is {spark_ddl(column.stored)}, as declared or as inferred "
                f"from the first entries, but an entry has {_shortened(value)}; infer the type "
                "from all entries (sample=None), or declare another type"
            ) from None

    return convert_or_raise


class _MisfitError(Exception):
    """A value does not fit the type of its column."""


def converter(kind: LogicalType) -> Converter:
    """A function that converts values of this type to values that Arrow accepts; None stays
    None."""
    convert = _not_null_converter(kind)
    return lambda value: None if value is None else convert(value)


def _not_null_converter(kind: LogicalType) -> Converter:
    if kind in (JSON, NULL):
        return json_text
    if isinstance(kind, logical.ArrayType):
        return _array_converter(converter(kind.element_type))
    if isinstance(kind, logical.MapType):
        return _map_converter(converter(kind.key_type), converter(kind.value_type))
    if isinstance(kind, logical.RowType):
        return _struct_converter({field.name: converter(field.type) for field in kind})
    if isinstance(kind, logical.DecimalType) and kind not in _EXACT:
        return _decimal_converter(kind)
    convert_scalar = _SCALAR_CONVERTERS.get(kind, _without_numpy)

    def convert(value: Any) -> Any:
        if not fits(value, kind):
            raise _MisfitError
        return convert_scalar(value)

    return convert


def _without_numpy(value: Any) -> Any:
    converted = numpy_to_python(value)
    return value if converted is None else converted


def _text(value: Any) -> str:
    if isinstance(value, enum.Enum):
        return value.name
    return value.isoformat() if isinstance(value, dt.time) else str(value)


_SCALAR_CONVERTERS: dict[LogicalType, Converter] = {
    _DOUBLE: lambda value: float(_without_numpy(value)),
    _WIDE_DECIMAL: lambda value: Decimal(_without_numpy(value)),
    _STRING: _text,
}


def _decimal_converter(kind: logical.DecimalType) -> Converter:
    def convert(value: Any) -> Any:
        plain = _without_numpy(value)
        if not isinstance(plain, Decimal | int):
            raise _MisfitError
        number = Decimal(plain)
        exponent = number.as_tuple().exponent
        whole = isinstance(exponent, int) and exponent >= -kind.scale
        if not whole or number.adjusted() >= kind.precision - kind.scale:
            raise _MisfitError
        return number

    return convert


def _array_converter(element: Converter) -> Converter:
    def convert(value: Any) -> Any:
        values = _without_numpy(value)
        if not isinstance(values, (list, tuple, set, frozenset, array)):
            raise _MisfitError
        return list(map(element, values))

    return convert


def _map_converter(key: Converter, item: Converter) -> Converter:
    def convert(value: Any) -> Any:
        if not isinstance(value, Mapping):
            raise _MisfitError
        return [(key(name), item(entry)) for name, entry in value.items()]

    return convert


def _struct_converter(fields: dict[str, Converter]) -> Converter:
    def convert(value: Any) -> Any:
        values = dict(value) if isinstance(value, Mapping) else _fields_by_name(value)
        if not values.keys() <= fields.keys():
            raise _MisfitError
        return {name: convert_field(values.get(name)) for name, convert_field in fields.items()}

    return convert


def _fields_by_name(value: Any) -> dict[str, Any]:
    named = named_fields(value)
    if named is None:
        raise _MisfitError
    return dict(zip(*named, strict=True))


def _shortened(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
