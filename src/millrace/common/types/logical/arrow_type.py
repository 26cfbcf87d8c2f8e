"""Logical types as Arrow types, and Arrow types as logical types.

The Arrow types are PyFlink's (``pyflink.table.types.to_arrow_type``), with a zone for points in
time; a TIMESTAMP WITH TIME ZONE is a struct of wall-clock time, zone and fold. An Arrow type is
coarser: it has no lengths of texts, and no number of digits of seconds.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from millrace.common.errors import JobDefinitionError
from millrace.common.types.logical.logical_type import (
    ArrayType,
    BigIntType,
    BinaryType,
    BooleanType,
    CharType,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    DoubleType,
    FloatType,
    IntType,
    LocalZonedTimestampType,
    LogicalType,
    MapType,
    MultisetType,
    NullType,
    RawType,
    RowField,
    RowType,
    SmallIntType,
    StructuredType,
    TimestampType,
    TimeType,
    TinyIntType,
    VarBinaryType,
    VarCharType,
    YearMonthIntervalType,
    ZonedTimestampType,
)

if TYPE_CHECKING:
    import pyarrow

__all__ = ["arrow_schema", "arrow_type", "logical_row_type", "logical_type_of"]


def arrow_type(logical_type: LogicalType) -> pyarrow.DataType:
    """The Arrow type of a logical type.

    Example:
        >>> from millrace.common.types.logical.parser import parse_type
        >>> arrow_type(parse_type("ROW<id BIGINT NOT NULL, at TIMESTAMP_LTZ(3)>"))
        StructType(struct<id: int64 not null, at: timestamp[ms, tz=UTC]>)
    """
    return _arrow_type(logical_type.with_nullable(True))


def arrow_schema(row_type: RowType) -> pyarrow.Schema:
    """The schema of a table with these columns."""
    import pyarrow as pa

    return pa.schema(_fields(row_type))


@lru_cache(maxsize=1024)
def _arrow_type(kind: LogicalType) -> Any:
    import pyarrow as pa

    return _MAKERS[type(kind)](pa, kind)


def _fields(row: Any) -> list[Any]:
    import pyarrow as pa

    return [
        pa.field(field.name, arrow_type(field.type), nullable=field.type.nullable)
        for field in row.fields
    ]


def _element(pa: Any, kind: Any) -> Any:
    element = kind.element_type
    return pa.field("item", arrow_type(element), nullable=element.nullable)


def _map(pa: Any, key: LogicalType, value: LogicalType) -> Any:
    return pa.map_(arrow_type(key), pa.field("value", arrow_type(value), nullable=value.nullable))


def _time(pa: Any, unit: str) -> Any:
    return pa.time32(unit) if unit in ("s", "ms") else pa.time64(unit)


_MAKERS: dict[type, Callable[[Any, Any], Any]] = {
    NullType: lambda pa, kind: pa.null(),
    BooleanType: lambda pa, kind: pa.bool_(),
    TinyIntType: lambda pa, kind: pa.int8(),
    SmallIntType: lambda pa, kind: pa.int16(),
    IntType: lambda pa, kind: pa.int32(),
    BigIntType: lambda pa, kind: pa.int64(),
    FloatType: lambda pa, kind: pa.float32(),
    DoubleType: lambda pa, kind: pa.float64(),
    CharType: lambda pa, kind: pa.string(),
    VarCharType: lambda pa, kind: pa.string(),
    BinaryType: lambda pa, kind: pa.binary(kind.length),
    VarBinaryType: lambda pa, kind: pa.binary(),
    DecimalType: lambda pa, kind: pa.decimal128(kind.precision, kind.scale),
    DateType: lambda pa, kind: pa.date32(),
    TimeType: lambda pa, kind: _time(pa, kind.unit),
    TimestampType: lambda pa, kind: pa.timestamp(kind.unit),
    LocalZonedTimestampType: lambda pa, kind: pa.timestamp(kind.unit, "UTC"),
    ZonedTimestampType: lambda pa, kind: pa.struct(
        [("wall", pa.timestamp(kind.unit)), ("zone", pa.string()), ("fold", pa.bool_())]
    ),
    YearMonthIntervalType: lambda pa, kind: pa.int32(),
    DayTimeIntervalType: lambda pa, kind: pa.duration("us"),
    ArrayType: lambda pa, kind: pa.list_(_element(pa, kind)),
    MultisetType: lambda pa, kind: _map(pa, kind.element_type, IntType(nullable=False)),
    MapType: lambda pa, kind: _map(pa, kind.key_type, kind.value_type),
    RowType: lambda pa, kind: pa.struct(_fields(kind)),
    StructuredType: lambda pa, kind: pa.struct(_fields(kind)),
    RawType: lambda pa, kind: pa.binary(),
}


def logical_row_type(schema: pyarrow.Schema) -> RowType:
    """The type of the rows of a table.

    Raises:
        JobDefinitionError: a column has a type that Flink does not know.
    """
    return RowType(tuple(map(_row_field, schema)))


def _row_field(field: Any) -> RowField:
    return RowField(field.name, _of_field(field))


def _of_field(field: Any) -> LogicalType:
    return logical_type_of(field.type).with_nullable(field.nullable)


def logical_type_of(data_type: pyarrow.DataType) -> LogicalType:
    """The nearest logical type of an Arrow type; unsigned numbers take the next wider one.

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
    made = TimestampType if data_type.tz is None else LocalZonedTimestampType
    return made(_DIGITS[data_type.unit])


def _map_of(data_type: Any) -> LogicalType:
    return MapType(_of_field(data_type.key_field), _of_field(data_type.item_field))


@lru_cache(maxsize=1)
def _of_arrow(kinds: Any) -> tuple[tuple[Any, Callable[[Any], LogicalType]], ...]:
    return (
        (kinds.is_null, lambda t: NullType()),
        (kinds.is_boolean, lambda t: BooleanType()),
        (kinds.is_int8, lambda t: TinyIntType()),
        (lambda t: kinds.is_int16(t) or kinds.is_uint8(t), lambda t: SmallIntType()),
        (lambda t: kinds.is_int32(t) or kinds.is_uint16(t), lambda t: IntType()),
        (lambda t: kinds.is_int64(t) or kinds.is_uint32(t), lambda t: BigIntType()),
        (kinds.is_uint64, lambda t: DecimalType(20, 0)),
        (lambda t: kinds.is_float16(t) or kinds.is_float32(t), lambda t: FloatType()),
        (kinds.is_float64, lambda t: DoubleType()),
        (_any_of(kinds, "string", "large_string", "string_view"), lambda t: VarCharType()),
        (kinds.is_fixed_size_binary, lambda t: BinaryType(t.byte_width)),
        (_any_of(kinds, "binary", "large_binary", "binary_view"), lambda t: VarBinaryType()),
        (kinds.is_decimal, lambda t: DecimalType(t.precision, max(t.scale, 0))),
        (kinds.is_date, lambda t: DateType()),
        (kinds.is_time, lambda t: TimeType(_DIGITS[t.unit])),
        (kinds.is_timestamp, _timestamp),
        (kinds.is_duration, lambda t: DayTimeIntervalType()),
        (
            _any_of(kinds, "list", "large_list", "fixed_size_list", "list_view"),
            lambda t: ArrayType(_of_field(t.value_field)),
        ),
        (kinds.is_map, _map_of),
        (kinds.is_struct, lambda t: RowType(tuple(map(_row_field, t)))),
    )


def _any_of(kinds: Any, *names: str) -> Callable[[Any], bool]:
    tests = [getattr(kinds, f"is_{name}") for name in names if hasattr(kinds, f"is_{name}")]
    return lambda data_type: any(test(data_type) for test in tests)
