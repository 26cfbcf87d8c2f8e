"""`execute_statement`: executes a statement of any kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from millrace.common.errors import JobDefinitionError
from millrace.planner.execution.table_options import OptionError, UnknownOptionError
from millrace.sql import statements as sql
from millrace.sql.position import StatementPosition
from millrace.sql.statements import Statement
from millrace.table.catalog.errors import CatalogError, UnknownCatalogOptionError
from millrace.table.ddl import (
    alter,
    analyze,
    create,
    describe,
    drop,
    jobs,
    models,
    modify,
    modules,
    plans,
    queries,
    session_state,
    show,
)
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
    sql.Analyze: analyze.analyze,
    sql.Explain: queries.explain,
    sql.CompilePlan: plans.compile_plan,
    sql.ExecutePlan: plans.execute_plan,
    sql.CreateTable: create.create_table,
    sql.CreateView: create.create_view,
    sql.CreateDatabase: create.create_database,
    sql.CreateCatalog: create.create_catalog,
    sql.CreateFunction: create.create_function,
    sql.CreateModel: models.create_model,
    sql.AlterModel: models.alter_model,
    sql.DropModel: models.drop_model,
    sql.DropTable: drop.drop_table,
    sql.DropView: drop.drop_view,
    sql.DropDatabase: drop.drop_database,
    sql.DropCatalog: drop.drop_catalog,
    sql.DropFunction: drop.drop_function,
    sql.AlterTable: alter.alter_table,
    sql.AlterView: alter.alter_view,
    sql.AlterDatabase: alter.alter_database,
    sql.AlterFunction: alter.alter_function,
    sql.UseCatalog: session_state.use_catalog,
    sql.UseDatabase: session_state.use_database,
    sql.UseModules: modules.use_modules,
    sql.LoadModule: modules.load_module,
    sql.UnloadModule: modules.unload_module,
    sql.SetOption: session_state.set_option,
    sql.ResetOption: session_state.reset_option,
    sql.Show: show.show,
    sql.ShowCreate: show.show_create,
    sql.Describe: describe.describe,
    sql.StopJob: jobs.stop_job,
}


_NO_JARS = (
    "there is no JVM to load it into; functions are written in Python, and connectors are built in"
)
_REASONS: dict[type[Statement], tuple[str, str]] = {
    sql.AddJar: ("ADD JAR", _NO_JARS),
    sql.RemoveJar: ("REMOVE JAR", _NO_JARS),
    sql.CallProcedure: ("CALL", "no catalog here has procedures"),
    sql.AlterCatalog: (
        "ALTER CATALOG",
        "use DROP CATALOG, then CREATE CATALOG with the new options",
    ),
}
"""Why, and what to do instead, of statements that are read and not carried out."""


def execute_statement(session: TableSession, statement: Statement) -> TableResult:
    """Execute a statement.

    Raises:
        JobDefinitionError: the statement cannot be executed.
    """
    execute = _EXECUTIONS.get(type(statement))
    if execute is None:
        name, reason = _REASONS[type(statement)]
        raise JobDefinitionError(f"{name} cannot be executed here: {reason}")
    try:
        return execute(session, statement)
    except CatalogError as error:
        if error.place is None and error.name:
            position = statement.place_of(error.name)
            if position is not None:
                is_unknown = isinstance(error, UnknownCatalogOptionError)
                error.place = StatementPosition(statement.text, position, is_unknown)
        raise
    except OptionError as error:
        # of a catalog or a model, or of a table whose declaration asks its connector
        declared = statement.name_positions.options.get(error.option)
        if error.place is None and declared is not None:
            is_unknown = isinstance(error, UnknownOptionError)
            error.place = StatementPosition(statement.text, declared, is_unknown)
        raise
