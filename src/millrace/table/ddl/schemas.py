"""Columns, watermarks and keys of CREATE and ALTER TABLE, as parts of a `Schema`."""

from __future__ import annotations

from millrace.common.errors import JobDefinitionError
from millrace.planner.catalog_reader import ColumnKind
from millrace.sql.statements import (
    Column,
    ComputedColumnClause,
    CreateTable,
    MetadataColumnClause,
    PrimaryKey,
    Watermark,
)
from millrace.table.schema import (
    Schema,
    UnresolvedColumn,
    UnresolvedKey,
    UnresolvedWatermark,
    checked,
)

__all__ = ["column_of_statement", "key_of", "schema_of_statement", "watermark_of"]


def column_of_statement(column: Column) -> UnresolvedColumn:
    """A column as a schema stores it."""
    if isinstance(column, ComputedColumnClause):
        return UnresolvedColumn(
            column.name,
            ColumnKind.COMPUTED,
            expression=column.expression_text,
            comment=column.comment,
        )
    if isinstance(column, MetadataColumnClause):
        return UnresolvedColumn(
            column.name,
            ColumnKind.METADATA,
            column.type,
            metadata_key=column.key,
            virtual=column.virtual,
            comment=column.comment,
        )
    return UnresolvedColumn(column.name, ColumnKind.PHYSICAL, column.type, comment=column.comment)


def watermark_of(watermark: Watermark | None) -> UnresolvedWatermark | None:
    """A watermark as a schema stores it."""
    if watermark is None:
        return None
    return UnresolvedWatermark(".".join(watermark.column), watermark.expression_text)


def key_of(key: PrimaryKey | None) -> UnresolvedKey | None:
    """A primary key as a schema stores it.

    Raises:
        JobDefinitionError: the key is declared as ENFORCED.
    """
    if key is None:
        return None
    if key.enforced:
        raise JobDefinitionError(
            "a PRIMARY KEY cannot be enforced, because the table's data is in another "
            "system: add NOT ENFORCED"
        )
    return UnresolvedKey(key.columns, key.name or "")


def schema_of_statement(statement: CreateTable) -> Schema:
    """The schema that CREATE TABLE declares.

    Raises:
        JobDefinitionError: its names do not fit together.
    """
    columns = tuple(column_of_statement(column) for column in statement.columns)
    return checked(
        Schema(columns, watermark_of(statement.watermark), key_of(statement.primary_key))
    )
