"""`change_rows`: deletes or replaces rows of a table by key, all in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from millrace.connectors.jdbc.connection_options import JdbcConnectionOptions
from millrace.connectors.jdbc.dialect import dialect_of
from millrace.connectors.jdbc.session import JdbcSession
from millrace.connectors.jdbc.target_table import StagedTable, TargetTable

if TYPE_CHECKING:
    from sqlalchemy import Connection

__all__ = ["change_rows"]

_TEMPORARY = "millrace_changed"


def change_rows(
    options: JdbcConnectionOptions,
    target: TargetTable,
    rows: Sequence[tuple[Any, ...]] | None,
    deletes: bool,
) -> None:
    """Change rows of a table by key: either all of them or none.

    Args:
        target: the table, with the columns of the rows.
        rows: rows to delete, or to replace the rows of their keys; None to delete every row.

    Raises:
        ConnectionError, JdbcError: the database does not do it.
    """

    def work(connection: Connection) -> None:
        if rows is None:
            quoted = dialect_of(connection).table(target.name)
            connection.exec_driver_sql(f"DELETE FROM {quoted}")
            return
        staged = StagedTable(_TEMPORARY, target, connection, lasting=False)
        staged.create()
        staged.load(rows, [True] * len(rows) if deletes else None)
        staged.merge((), deletes)

    if rows is not None and not rows:
        return
    session = JdbcSession(options)
    try:
        session.transaction(work)
    finally:
        session.close()
