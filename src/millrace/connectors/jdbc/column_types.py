"""Types of a table's columns, as logical types and Arrow types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from millrace.common.types.logical import logical_type as logical
from millrace.common.types.logical.arrow_type import arrow_schema
from millrace.common.types.logical.logical_type import LogicalType, RowField, RowType
from millrace.connectors.jdbc.client import JdbcError

if TYPE_CHECKING:
    import pyarrow
    from sqlalchemy import Connection, Table

__all__ = ["chosen", "columns_of", "is_ordered", "reflected"]

_MICROSECONDS = 6
_LONGEST_DECIMAL, _SCALE = 38, 18
"""Flink's precision and scale for a NUMERIC that has neither."""


def reflected(connection: Connection, table: str) -> Table:
    """A SQLAlchemy table with the columns that the database reports.

    Raises:
        JdbcError: the table does not exist.
    """
    from sqlalchemy import MetaData, Table
    from sqlalchemy.exc import NoSuchTableError

    schema, _, name = table.rpartition(".")
    try:
        return Table(name, MetaData(), schema=schema or None, autoload_with=connection)
    except NoSuchTableError:
        raise JdbcError(f"there is no table {table} in the database") from None


def chosen(table: Table, name: str, columns: Sequence[str]) -> list[Any]:
    """The columns of a table that have the given names.

    Raises:
        JdbcError: it has no such column.
    """
    missing = [column for column in columns if column not in table.c]
    if missing:
        raise JdbcError(
            f"table {name} has no column {', '.join(missing)}; it has {', '.join(table.c.keys())}"
        )
    return [table.c[column] for column in columns]


def columns_of(columns: Sequence[Any], short_reals: bool) -> pyarrow.Schema:
    """Arrow schema of a table's columns.

    What has no type of ours, as JSON, intervals and UUIDs, is text.

    Args:
        short_reals: whether REAL has four bytes in this database.
    """
    fields = []
    for column in columns:
        kind = logical_of(column.type)
        if isinstance(kind, logical.FloatType) and not short_reals:
            kind = logical.DoubleType()
        fields.append(RowField(column.name, kind.with_nullable(column.nullable is not False)))
    return arrow_schema(RowType(fields=tuple(fields)))


def is_ordered(kind: Any) -> bool:
    """Whether every database can sort by this SQLAlchemy type."""
    from sqlalchemy import types

    return not isinstance(kind, (types.ARRAY, types.JSON, types.LargeBinary, types.NullType))


def logical_of(kind: Any) -> LogicalType:
    """The logical type of a SQLAlchemy type."""
    from sqlalchemy import types

    if isinstance(kind, types.ARRAY):
        return logical.ArrayType(element_type=logical_of(kind.item_type))
    if isinstance(kind, types.DateTime):
        zoned = bool(kind.timezone)
        return (logical.LocalZonedTimestampType if zoned else logical.TimestampType)(
            precision=_MICROSECONDS
        )
    if isinstance(kind, types.Numeric) and kind.asdecimal:
        precision = kind.precision or _LONGEST_DECIMAL
        scale = kind.scale if kind.scale is not None else _SCALE
        return logical.DecimalType(precision=min(precision, _LONGEST_DECIMAL), scale=scale)
    for generic, logical_type in (
        (types.Boolean, logical.BooleanType()),
        (types.BigInteger, logical.BigIntType()),
        (types.SmallInteger, logical.SmallIntType()),
        (types.Integer, logical.IntType()),
        (types.REAL, logical.FloatType()),
        (types.Float, logical.DoubleType()),
        (types.Date, logical.DateType()),
        (types.Time, logical.TimeType(precision=_MICROSECONDS)),
        (types.LargeBinary, logical.VarBinaryType()),
    ):
        if isinstance(kind, generic):
            return logical_type
    return logical.VarCharType()
