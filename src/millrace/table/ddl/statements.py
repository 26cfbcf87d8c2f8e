"""`execute_statement`: carries out a statement of any kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from millrace.common.errors import JobDefinitionError
from millrace.sql import statements as sql
from millrace.sql.statements import Statement
from millrace.table.ddl import alter, create, describe, drop, modify, options, queries, show
from millrace.table.table_result import TableResult
from millrace.table.table_session import TableSession

__all__ = ["execute_statement"]

Execute = Callable[[TableSession, Any], TableResult]

_EXECUTIONS: dict[type[Statement], Execute] = {
    sql.Query: queries.query,
    sql.Insert: queries.insert,
    sql.InsertSet: queries.insert_set,
    sql.TruncateTable: modify.truncate_table,
    sql.Delete: modify.delete,
    sql.Update: modify.update,
    sql.Explain: queries.explain,
    sql.CreateTable: create.create_table,
    sql.CreateView: create.create_view,
    sql.CreateDatabase: create.create_database,
    sql.CreateCatalog: create.create_catalog,
    sql.CreateFunction: create.create_function,
    sql.DropTable: drop.drop_table,
    sql.DropView: drop.drop_view,
    sql.DropDatabase: drop.drop_database,
    sql.DropCatalog: drop.drop_catalog,
    sql.DropFunction: drop.drop_function,
    sql.AlterTable: alter.alter_table,
    sql.AlterView: alter.alter_view,
    sql.AlterDatabase: alter.alter_database,
    sql.AlterFunction: alter.alter_function,
    sql.UseCatalog: options.use_catalog,
    sql.UseDatabase: options.use_database,
    sql.SetOption: options.set_option,
    sql.ResetOption: options.reset_option,
    sql.Show: show.show,
    sql.ShowCreate: show.show_create,
    sql.Describe: describe.describe,
}


def execute_statement(session: TableSession, statement: Statement) -> TableResult:
    """Carry out a statement.

    Raises:
        JobDefinitionError: it cannot be carried out, or not yet.
    """
    execute = _EXECUTIONS.get(type(statement))
    if execute is None:
        raise JobDefinitionError(f"{_words(type(statement).__name__)} cannot be executed here yet")
    return execute(session, statement)


def _words(name: str) -> str:
    """The words of a class's name, as SQL has them.

    >>> _words("ExecutePlan")
    'EXECUTE PLAN'
    """
    return "".join(f" {sign}" if sign.isupper() else sign for sign in name).strip().upper()
