"""The table that CREATE TABLE ... AS makes from a query. Flink docs: CREATE TABLE, "AS"."""

from __future__ import annotations

from millrace.common.errors import JobDefinitionError
from millrace.common.types.logical.logical_type import NullType
from millrace.planner.catalog_reader import ColumnKind
from millrace.planner.relational.rel_node import RelNode
from millrace.sql.statements import CreateTable
from millrace.table.catalog.catalog_objects import CatalogTable
from millrace.table.ddl.schemas import column_of_statement, key_of, watermark_of
from millrace.table.schema import Schema, UnresolvedColumn, checked
from millrace.table.table_session import TableSession

__all__ = ["table_of_query"]


def table_of_query(session: TableSession, statement: CreateTable) -> tuple[CatalogTable, RelNode]:
    """The table of CREATE TABLE ... AS, with the statement's and the query's columns; and the
    query.

    Columns that the statement declares come first; one of the name of a column of the query has
    the declared type, to which the query's values are cast.

    Raises:
        JobDefinitionError: columns do not fit together.
    """
    assert statement.query is not None
    query = session.bind_query(statement.query, statement.text)
    own = {
        field.name: UnresolvedColumn(field.name, ColumnKind.PHYSICAL, field.type)
        for field in query.row_type.fields
    }
    for field in query.row_type.fields:
        if isinstance(field.type, NullType):
            raise JobDefinitionError(
                f"column {field.name} of the query is NULL, which has no type: CAST(NULL AS ...)"
            )
    columns = tuple(own.values())
    if statement.column_names:
        if sorted(statement.column_names) != sorted(own):
            raise JobDefinitionError(
                f"CREATE TABLE names the columns {', '.join(statement.column_names)}, and the "
                f"query gives {', '.join(own)}: the names must be the same, in any order"
            )
        columns = tuple(own[name] for name in statement.column_names)
    declared = tuple(column_of_statement(column) for column in statement.columns)
    names = {column.name for column in declared}
    columns = (*declared, *(column for column in columns if column.name not in names))
    watermark, key = watermark_of(statement.watermark), key_of(statement.primary_key)
    table = CatalogTable(
        checked(Schema(columns, watermark, key)),
        dict(statement.options),
        statement.partitioned_by,
        statement.comment,
    )
    return table, query
