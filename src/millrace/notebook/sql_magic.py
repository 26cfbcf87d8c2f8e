"""``%%millrace_sql``: statements in a cell."""

from __future__ import annotations

from typing import Any

from millrace.common.errors import JobDefinitionError
from millrace.notebook.job_progress import watch
from millrace.notebook.live_table import show_result
from millrace.sql.parser import parse
from millrace.sql.statements import Query
from millrace.table.ddl.statements import execute_statement
from millrace.table.environment_settings import EnvironmentSettings
from millrace.table.table_environment import TableEnvironment

__all__ = ["MAGIC", "run_cell"]

MAGIC = "millrace_sql"
DEFAULT_NAME = "t_env"


def run_cell(line: str, cell: str) -> None:
    """Execute the statements of a cell, in the table environment of the notebook.

    Args:
        line: name of the variable with the table environment. If empty, ``t_env``, which is
            created for streams if the notebook has none.
        cell: statements, separated by ``;``. Rows of queries are shown as they arrive; for an
            INSERT, the progress of its job is shown.
    """
    t_env = _environment(line.strip())
    for statement in parse(cell):
        result = execute_statement(t_env._session, statement)
        client = result.get_job_client()
        if client is None or isinstance(statement, Query):
            show_result(result)
        else:
            watch(client)


def _environment(name: str) -> TableEnvironment:
    from IPython import get_ipython

    shell: Any = get_ipython()
    known = {} if shell is None else shell.user_ns
    environment = known.get(name or DEFAULT_NAME)
    if environment is None and not name:
        environment = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
        known[DEFAULT_NAME] = environment
    if not isinstance(environment, TableEnvironment):
        raise JobDefinitionError(
            f"%%{MAGIC} {name}: {name or DEFAULT_NAME} is not a TableEnvironment of this notebook"
        )
    return environment
