"""Conversion of logical types to Arrow types and back.

The Arrow types are PyFlink's (``pyflink.table.types.to_arrow_type``), with a zone for points in
time; a TIMESTAMP WITH TIME ZONE is a struct of wall-clock time, zone and fold. An Arrow type is
coarser: it has no lengths of texts, and no number of digits of seconds.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from millrace.common.errors import JobDefinitionError
from millrace.common.types.logical import logical_type as logical
from millrace.common.types.logical.logical_type import LogicalType

if TYPE_CHECKING:
    import pyarrow

__all__ = [
    "arrow_schema",
    "arrow_type",
    "counted_nanoseconds",
    "logical_row_type",
    "logical_type_of",
]


def arrow_type(logical_type: LogicalType) -> pyarrow.DataType:
    """The Arrow type of a logical type.

    Example:
        >>> from millrace.common.types.logical.parser import parse_type
        >>> arrow_type(parse_type("ROW<id BIGINT NOT NULL, at TIMESTAMP_LTZ(3)>"))
        StructType(struct<id: int64 not null, at: timestamp[ms, tz=UTC]>)
    """
    return _arrow_type(logical_type.with_nullable(True))


def arrow_schema(row_type: logical.RowType) -> pyarrow.Schema:
    """The schema of a table with the given columns."""
    import pyarrow as pa

    return pa.schema(_fields(row_type))


@lru_cache(maxsize=1024)
def _arrow_type(kind: LogicalType) -> Any:
    import pyarrow as pa

    return _MAKERS[type(kind)](pa, kind)


def _fields(row: Any) -> list[Any]:
    import pyarrow as pa

    return [
        pa.field(field.name, arrow_type(field.type), nullable=field.type.is_nullable)
        for field in row.fields
    ]


def _element(pa: Any, kind: Any) -> Any:
    element = kind.element_type
    return pa.field("item", arrow_type(element), nullable=element.is_nullable)


def _map(pa: Any, key: LogicalType, value: LogicalType) -> Any:
    item = pa.field("value", arrow_type(value), nullable=value.is_nullable)
    return pa.map_(arrow_type(key), item)


def _time(pa: Any, unit: str) -> Any:
    return pa.time32(unit) if unit in ("s", "ms") else pa.time64(unit)


_MAKERS: dict[type, Callable[[Any, Any], Any]] = {
    logical.NullType: lambda pa, kind: pa.null(),
    logical.BooleanType: lambda pa, kind: pa.bool_(),
    logical.TinyIntType: lambda pa, kind: pa.int8(),
    logical.SmallIntType: lambda pa, kind: pa.int16(),
    logical.IntType: lambda pa, kind: pa.int32(),
    logical.BigIntType: lambda pa, kind: pa.int64(),
    logical.FloatType: lambda pa, kind: pa.float32(),
    logical.DoubleType: lambda pa, kind: pa.float64(),
    logical.CharType: lambda pa, kind: pa.string(),
    logical.VarCharType: lambda pa, kind: pa.string(),
    logical.BinaryType: lambda pa, kind: pa.binary(kind.length),
    logical.VarBinaryType: lambda pa, kind: pa.binary(),
    logical.BitmapType: lambda pa, kind: pa.binary(),
    logical.DecimalType: lambda pa, kind: pa.decimal128(kind.precision, kind.scale),
    logical.DateType: lambda pa, kind: pa.date32(),
    logical.TimeType: lambda pa, kind: _time(pa, kind.unit),
    logical.TimestampType: lambda pa, kind: pa.timestamp(kind.unit),
    logical.LocalZonedTimestampType: lambda pa, kind: pa.timestamp(kind.unit, "UTC"),
    logical.ZonedTimestampType: lambda pa, kind: pa.struct(
        [("wall", pa.timestamp(kind.unit)), ("zone", pa.string()), ("fold", pa.bool_())]
    ),
    logical.YearMonthIntervalType: lambda pa, kind: pa.int32(),
    logical.DayTimeIntervalType: lambda pa, kind: pa.duration("us"),
    logical.ArrayType: lambda pa, kind: pa.list_(_element(pa, kind)),
    logical.MultisetType: lambda pa, kind: _map(
        pa, kind.element_type, logical.IntType(nullable=False)
    ),
    logical.MapType: lambda pa, kind: _map(pa, kind.key_type, kind.value_type),
    logical.RowType: lambda pa, kind: pa.struct(_fields(kind)),
    logical.StructuredType: lambda pa, kind: pa.struct(_fields(kind)),
    logical.RawType: lambda pa, kind: pa.binary(),
}


@lru_cache(maxsize=1024)
def counted_nanoseconds(kind: Any) -> Any:
    """An Arrow type in which nanosecond timestamps are replaced by integers, at any depth."""
    import pyarrow as pa

    if pa.types.is_timestamp(kind) and kind.unit == "ns":
        return pa.int64()
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(counted_nanoseconds(field.type)) for field in kind])
    if pa.types.is_map(kind):
        item = kind.item_field.with_type(counted_nanoseconds(kind.item_type))
        return pa.map_(counted_nanoseconds(kind.key_type), item)
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(counted_nanoseconds(kind.value_type)))
    return kind


def logical_row_type(schema: pyarrow.Schema) -> logical.RowType:
    """The type of the rows of a table.

    Raises:
        JobDefinitionError: a column has a type that Flink does not know.
    """
    return logical.RowType(tuple(map(_row_field, schema)))


def _row_field(field: Any) -> logical.RowField:
    return logical.RowField(field.name, _of_field(field))


def _of_field(field: Any) -> LogicalType:
    return logical_type_of(field.type).with_nullable(field.nullable)


def logical_type_of(data_type: pyarrow.DataType) -> LogicalType:
    """The nearest logical type of an Arrow type; unsigned integers become the next wider type.

    Raises:
        JobDefinitionError: Flink has none, or (half floats, unions) Arrow keeps it otherwise.
    """
    import pyarrow.types as kinds

    if kinds.is_dictionary(data_type):
        return logical_type_of(data_type.value_type)
    for matches, make in _of_arrow(kinds):
        if matches(data_type):
            return make(data_type)
    raise JobDefinitionError(f"the Arrow type {data_type} has no counterpart in Flink; cast it")


_DIGITS = {"s": 0, "ms": 3, "us": 6, "ns": 9}


def _timestamp(data_type: Any) -> LogicalType:
    made = logical.TimestampType if data_type.tz is None else logical.LocalZonedTimestampType
    return made(_DIGITS[data_type.unit])


def _map_of(data_type: Any) -> LogicalType:
    return logical.MapType(_of_field(data_type.key_field), _of_field(data_type.item_field))


@lru_cache(maxsize=1)
def _of_arrow(kinds: Any) -> tuple[tuple[Any, Callable[[Any], LogicalType]], ...]:
    return (
        (kinds.is_null, lambda t: logical.NullType()),
        (kinds.is_boolean, lambda t: logical.BooleanType()),
        (kinds.is_int8, lambda t: logical.TinyIntType()),
        (lambda t: kinds.is_int16(t) or kinds.is_uint8(t), lambda t: logical.SmallIntType()),
        (lambda t: kinds.is_int32(t) or kinds.is_uint16(t), lambda t: logical.IntType()),
        (lambda t: kinds.is_int64(t) or kinds.is_uint32(t), lambda t: logical.BigIntType()),
        (kinds.is_uint64, lambda t: logical.DecimalType(20, 0)),
        (lambda t: kinds.is_float16(t) or kinds.is_float32(t), lambda t: logical.FloatType()),
        (kinds.is_float64, lambda t: logical.DoubleType()),
        (_any_of(kinds, "string", "large_string", "string_view"), lambda t: logical.VarCharType()),
        (kinds.is_fixed_size_binary, lambda t: logical.BinaryType(t.byte_width)),
        (
            _any_of(kinds, "binary", "large_binary", "binary_view"),
            lambda t: logical.VarBinaryType(),
        ),
        (kinds.is_decimal, lambda t: logical.DecimalType(t.precision, max(t.scale, 0))),
        (kinds.is_date, lambda t: logical.DateType()),
        (kinds.is_time, lambda t: logical.TimeType(_DIGITS[t.unit])),
        (kinds.is_timestamp, _timestamp),
        (kinds.is_duration, lambda t: logical.DayTimeIntervalType()),
        (
            _any_of(kinds, "list", "large_list", "fixed_size_list", "list_view"),
            lambda t: logical.ArrayType(_of_field(t.value_field)),
        ),
        (kinds.is_map, _map_of),
        (kinds.is_struct, lambda t: logical.RowType(tuple(map(_row_field, t)))),
    )


def _any_of(kinds: Any, *names: str) -> Callable[[Any], bool]:
    tests = [getattr(kinds, f"is_{name}") for name in names if hasattr(kinds, f"is_{name}")]
    return lambda data_type: any(test(data_type) for test in tests)
