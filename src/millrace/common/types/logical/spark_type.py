"""Logical types as Spark SQL's, in its DDL: data only, since Spark itself is in another room."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

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
    quoted,
)

__all__ = ["spark_ddl"]


def spark_ddl(logical_type: LogicalType) -> str:
    """The type as Spark's DDL writes it.

    Spark has no time of day and no zone in a value: these become text, as their values do in JSON.
    Lengths of texts are not kept, since Spark checks them where it writes tables only.

    Example:
        >>> from millrace.common.types.logical.parser import parse_type
        >>> spark_ddl(parse_type("ROW<id BIGINT NOT NULL, tags ARRAY<STRING>, at TIMESTAMP(3)>"))
        'struct<`id`: bigint not null, `tags`: array<string>, `at`: timestamp_ntz>'
    """
    return _WRITERS[type(logical_type)](logical_type)


def _struct(kind: RowType) -> str:
    fields = (
        f"{quoted(field.name)}: {spark_ddl(field.type)}{'' if field.type.nullable else ' not null'}"
        for field in kind.fields
    )
    return f"struct<{', '.join(fields)}>"


_WRITERS: dict[type[LogicalType], Callable[[Any], str]] = {
    NullType: lambda kind: "void",
    BooleanType: lambda kind: "boolean",
    TinyIntType: lambda kind: "tinyint",
    SmallIntType: lambda kind: "smallint",
    IntType: lambda kind: "int",
    BigIntType: lambda kind: "bigint",
    FloatType: lambda kind: "float",
    DoubleType: lambda kind: "double",
    CharType: lambda kind: "string",
    VarCharType: lambda kind: "string",
    BinaryType: lambda kind: "binary",
    VarBinaryType: lambda kind: "binary",
    DecimalType: lambda kind: f"decimal({kind.precision},{kind.scale})",
    DateType: lambda kind: "date",
    TimeType: lambda kind: "string",
    TimestampType: lambda kind: "timestamp_ntz",
    LocalZonedTimestampType: lambda kind: "timestamp",
    ZonedTimestampType: lambda kind: "string",
    YearMonthIntervalType: lambda kind: f"interval {kind.fields.lower()}",
    DayTimeIntervalType: lambda kind: f"interval {kind.fields.lower()}",
    ArrayType: lambda kind: f"array<{spark_ddl(kind.element_type)}>",
    MultisetType: lambda kind: f"map<{spark_ddl(kind.element_type)}, int>",
    MapType: lambda kind: f"map<{spark_ddl(kind.key_type)}, {spark_ddl(kind.value_type)}>",
    RowType: _struct,
    StructuredType: _struct,
    RawType: lambda kind: "binary",
}
