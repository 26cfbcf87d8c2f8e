"""Conversion of logical types to text in Spark SQL's DDL, without an import of Spark."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from millrace.common.types.logical import logical_type as logical
from millrace.common.types.logical.logical_type import LogicalType, quoted

__all__ = ["spark_ddl"]


def spark_ddl(logical_type: LogicalType) -> str:
    """The type in Spark's DDL.

    Spark has no time of day and no zone in a value: these become text, as their values do in JSON.
    Lengths of texts are not kept, since Spark checks them where it writes tables only.

    Example:
        >>> from millrace.common.types.logical.parser import parse_type
        >>> spark_ddl(parse_type("ROW<id BIGINT NOT NULL, tags ARRAY<STRING>, at TIMESTAMP(3)>"))
        'struct<`id`: bigint not null, `tags`: array<string>, `at`: timestamp_ntz>'
    """
    return _WRITERS[type(logical_type)](logical_type)


def _struct(kind: logical.RowType) -> str:
    fields = (
        f"{quoted(field.name)}: {spark_ddl(field.type)}"
        f"{'' if field.type.is_nullable else ' not null'}"
        for field in kind.fields
    )
    return f"struct<{', '.join(fields)}>"


_WRITERS: dict[type[LogicalType], Callable[[Any], str]] = {
    logical.NullType: lambda kind: "void",
    logical.BooleanType: lambda kind: "boolean",
    logical.TinyIntType: lambda kind: "tinyint",
    logical.SmallIntType: lambda kind: "smallint",
    logical.IntType: lambda kind: "int",
    logical.BigIntType: lambda kind: "bigint",
    logical.FloatType: lambda kind: "float",
    logical.DoubleType: lambda kind: "double",
    logical.CharType: lambda kind: "string",
    logical.VarCharType: lambda kind: "string",
    logical.BinaryType: lambda kind: "binary",
    logical.VarBinaryType: lambda kind: "binary",
    logical.BitmapType: lambda kind: "binary",
    logical.DecimalType: lambda kind: f"decimal({kind.precision},{kind.scale})",
    logical.DateType: lambda kind: "date",
    logical.TimeType: lambda kind: "string",
    logical.TimestampType: lambda kind: "timestamp_ntz",
    logical.LocalZonedTimestampType: lambda kind: "timestamp",
    logical.ZonedTimestampType: lambda kind: "string",
    logical.YearMonthIntervalType: lambda kind: f"interval {kind.fields.lower()}",
    logical.DayTimeIntervalType: lambda kind: f"interval {kind.fields.lower()}",
    logical.ArrayType: lambda kind: f"array<{spark_ddl(kind.element_type)}>",
    logical.MultisetType: lambda kind: f"map<{spark_ddl(kind.element_type)}, int>",
    logical.MapType: lambda kind: f"map<{spark_ddl(kind.key_type)}, {spark_ddl(kind.value_type)}>",
    logical.RowType: _struct,
    logical.StructuredType: _struct,
    logical.RawType: lambda kind: "binary",
}
