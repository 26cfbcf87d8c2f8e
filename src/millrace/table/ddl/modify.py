"""TRUNCATE TABLE, DELETE and UPDATE. Flink docs: pages of these names; batch mode only."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from millrace.common.errors import JobDefinitionError
from millrace.common.types.logical.logical_type import quoted
from millrace.planner.catalog_reader import ResolvedTable
from millrace.planner.execution.table_factory import OptionValues, TableFactory, table_factory
from millrace.sql.parser import parse_query
from millrace.sql.statements import Delete, TruncateTable, Update
from millrace.table.catalog.errors import CatalogError, not_found
from millrace.table.inserts import arranged, written_table
from millrace.table.table_result import TableResult
from millrace.table.table_session import TableSession

__all__ = ["delete", "truncate_table", "update"]


def truncate_table(session: TableSession, statement: TruncateTable) -> TableResult:
    """TRUNCATE TABLE: deletes every row."""
    table = _changed_table(session, statement.path, "TRUNCATE TABLE")
    try:
        factory, options = _factory(table)
        factory.truncate(table, options)
    except CatalogError:
        raise
    except JobDefinitionError as error:
        raise CatalogError(str(error), table.path[-1]) from None
    return TableResult.ok()


def delete(session: TableSession, statement: Delete) -> TableResult:
    """DELETE: a query finds the rows that satisfy a condition, and they are deleted by primary
    key."""
    table = _changed_table(session, statement.path, "DELETE")
    factory, options = _factory(table)
    if statement.where is None:
        factory.delete_rows(table, options, None)
        return TableResult.ok()
    _require_key(table, "DELETE with WHERE")
    query = _selected(statement, table.primary_key)
    read = factory.version(table, options)
    rows = session.collect(session.bind_query(query, statement.text)).collect()
    factory.delete_rows(table, options, [tuple(row) for row in rows], read)
    return TableResult.ok()


def update(session: TableSession, statement: Update) -> TableResult:
    """UPDATE: a query computes the new rows, which replace the rows with their primary keys."""
    table = _changed_table(session, statement.path, "UPDATE")
    _require_key(table, "UPDATE")
    names = table.sink_type.names
    query = _selected(statement, names)
    for assignment in statement.assignments:
        name = ".".join(assignment.column)
        if name not in names:
            raise not_found("column", name, names)
        if name in table.primary_key:
            raise JobDefinitionError(
                f"UPDATE cannot change {name}: it is in the primary key of {'.'.join(table.path)}, "
                "by which rows are found; DELETE the row and INSERT another"
            )
        query.expressions[names.index(name)] = exp.alias_(
            assignment.value, name, quoted=True, copy=False
        )
    node = arranged(session.bind_query(query, statement.text), table, (), {})
    factory, options = _factory(table)
    read = factory.version(table, options)
    rows = [tuple(row) for row in session.collect(node).collect()]
    factory.update_rows(table, options, rows, read)
    return TableResult.ok()


def _changed_table(session: TableSession, path: tuple[str, ...], what: str) -> ResolvedTable:
    if session.streaming:
        raise JobDefinitionError(
            f"{what} needs batch mode: a stream that reads the table would not see the "
            "change. Use EnvironmentSettings.in_batch_mode()"
        )
    return written_table(session, path)


def _require_key(table: ResolvedTable, what: str) -> None:
    # asked first: a connector without such changes is not helped by a key
    factory, options = _factory(table)
    change = factory.update_rows if what == "UPDATE" else factory.delete_rows
    change(table, options, [])
    if not table.primary_key:
        raise JobDefinitionError(
            f"{what} finds rows by their primary key, but {'.'.join(table.path)} has none: "
            "declare PRIMARY KEY (...) NOT ENFORCED"
        )


def _selected(statement: Delete | Update, names: tuple[str, ...]) -> Any:
    """The query of the rows that a statement changes."""
    columns = ", ".join(map(quoted, names))
    alias = "" if statement.alias is None else f" AS {quoted(statement.alias)}"
    query: Any = parse_query(
        f"SELECT {columns} FROM {'.'.join(map(quoted, statement.path))}{alias}"
    )
    if statement.where is not None:
        query.set("where", exp.Where(this=statement.where))
    return query


def _factory(table: ResolvedTable) -> tuple[TableFactory, OptionValues]:
    """The factory of a table, and the table's checked options."""
    factory = table_factory(table, table.options)
    return factory, factory.options_of(table, table.options)
