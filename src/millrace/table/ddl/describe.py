"""DESCRIBE: the columns of a table, or the properties of a catalog or database."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sqlglot import exp

from millrace.common.errors import JobDefinitionError
from millrace.common.types.logical.logical_type import BooleanType, RowType, VarCharType
from millrace.expressions import built_in
from millrace.expressions.resolved import Call
from millrace.planner.catalog_reader import (
    ColumnKind,
    NameKind,
    ResolvedColumn,
    ResolvedTable,
    ResolvedView,
)
from millrace.planner.inference.time_attributes import time_attributes
from millrace.sql.dialect.printer import to_sql
from millrace.sql.parser import parse_expression
from millrace.sql.statements import Describe, DescribeKind
from millrace.table.catalog.catalog_objects import CatalogTable
from millrace.table.catalog.errors import not_found
from millrace.table.ddl.jobs import describe_job
from millrace.table.ddl.models import described_model
from millrace.table.table_result import TableResult
from millrace.table.table_session import TableSession

__all__ = ["columns_result", "describe"]


def describe(session: TableSession, statement: Describe) -> TableResult:
    """DESCRIBE: lists the columns of a table, or the properties of a catalog or database.

    Raises:
        CatalogError: the object does not exist.
    """
    if statement.kind is DescribeKind.TABLE:
        return columns_result(session, statement.path, lambda name: True)
    if statement.kind is DescribeKind.DATABASE:
        return _database(session, statement)
    if statement.kind is DescribeKind.CATALOG:
        return _catalog(session, statement)
    if statement.kind is DescribeKind.MODEL:
        return described_model(session, statement.path)
    if statement.kind is DescribeKind.JOB:
        return describe_job(session, statement.path[0])
    raise JobDefinitionError(f"DESCRIBE {statement.kind.value} is not supported")


def _catalog(session: TableSession, statement: Describe) -> TableResult:
    name = statement.path[-1]
    descriptor = session.catalogs.declared(name)
    options = dict(descriptor.options)
    items = [
        ("name", name),
        ("type", options.pop("type", "")),
        ("comment", descriptor.comment or ""),
    ]
    if statement.extended:
        items += [(f"option:{key}", value) for key, value in options.items()]
    return _items(items)


def _database(session: TableSession, statement: Describe) -> TableResult:
    catalog_name, name = session.catalogs.qualified_database(statement.path)
    database = session.catalogs.catalog(catalog_name).database(name)
    items = [("catalog", catalog_name), ("database", name), ("comment", database.comment or "")]
    return _items([*items, *database.options.items()])


def _items(rows: Sequence[tuple[str, str]]) -> TableResult:
    row_type = RowType.of(("info name", VarCharType()), ("info value", VarCharType()))
    return TableResult.of_rows(row_type, rows)


def columns_result(
    session: TableSession, path: Sequence[str], wanted: Callable[[str], bool]
) -> TableResult:
    """The result of DESCRIBE for a table, with one row per column: name, type, nullability, part
    of keys, and further properties."""
    table = session.reader.resolve_table(path)
    if table is None:
        raise not_found("table", ".".join(path), session.reader.names(NameKind.TABLE))
    columns, marks = _described(session, table, path)
    times = _times(session, table)
    names = ["name", "type", "null", "key", "extras", "watermark"]
    comments = any(column.comment for column in columns)
    rows: list[tuple[Any, ...]] = []
    for column in columns:
        if wanted(column.name):
            key, extras, watermark = marks(column)
            row = (
                column.name,
                _type_text(column, times),
                column.type.is_nullable,
                key,
                extras,
                watermark,
            )
            rows.append((*row, column.comment) if comments else row)
    fields = [(name, BooleanType() if name == "null" else VarCharType()) for name in names]
    if comments:
        fields.append(("comment", VarCharType()))
    return TableResult.of_rows(RowType.of(*fields), rows)


def _times(session: TableSession, table: ResolvedTable | ResolvedView) -> dict[str, str]:
    """The columns that are time attributes, and their kinds."""
    if isinstance(table, ResolvedView):
        names = session.view_type(table).names
        kinds = time_attributes(session.view_query(table))
        return {names[index]: kind.name for index, kind in kinds.items()}
    made = {
        column.name: "PROCTIME"
        for column in table.columns
        if isinstance(column.expression, Call) and column.expression.function is built_in.PROCTIME
    }
    if table.watermark is not None:
        made[table.columns[table.watermark.rowtime].name] = "ROWTIME"
    return made


def _type_text(column: ResolvedColumn, times: dict[str, str]) -> str:
    """The type, and whether it is a time attribute."""
    text = str(column.type.with_nullable(True))
    kind = times.get(column.name)
    return f"{text} *{kind}*" if kind else text


def _in_backticks(expression: str | None) -> str:
    """An expression with every name in backticks."""
    tree = parse_expression(expression or "")
    for column in tree.find_all(exp.Column):
        for name in column.parts:
            name.set("quoted", True)
    return to_sql(tree)


Marks = Callable[[ResolvedColumn], tuple[str | None, str | None, str | None]]


def _described(
    session: TableSession, table: ResolvedTable | ResolvedView, path: Sequence[str]
) -> tuple[Sequence[ResolvedColumn], Marks]:
    if isinstance(table, ResolvedView):
        row_type = session.view_type(table)
        columns = [ResolvedColumn(field.name, field.type) for field in row_type.fields]
        return columns, lambda column: (None, None, None)
    declared = session.catalogs.table(session.catalogs.qualified(path))
    assert isinstance(declared, CatalogTable)
    schema = declared.schema
    texts = {column.name: column.expression for column in schema.columns}
    key = f"PRI({', '.join(table.primary_key)})"

    def marks(column: ResolvedColumn) -> tuple[str | None, str | None, str | None]:
        extras = None
        if column.kind is ColumnKind.COMPUTED:
            extras = f"AS {_in_backticks(texts[column.name])}"
        elif column.kind is ColumnKind.METADATA:
            extras = "METADATA" + (f" FROM '{column.metadata_key}'" if column.metadata_key else "")
            extras += " VIRTUAL" if column.virtual else ""
        of_time = schema.watermark is not None and schema.watermark.column == column.name
        watermark = (
            _in_backticks(schema.watermark.expression) if of_time and schema.watermark else None
        )
        return key if column.name in table.primary_key else None, extras, watermark

    return table.columns, marks
