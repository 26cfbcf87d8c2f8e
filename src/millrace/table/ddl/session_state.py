"""SET, RESET and USE: the options of a session, and its current catalog and database."""

from __future__ import annotations

from millrace.common.types.logical.logical_type import RowType, VarCharType
from millrace.sql.statements import ResetOption, SetOption, UseCatalog, UseDatabase
from millrace.table.table_result import TableResult
from millrace.table.table_session import TableSession

__all__ = ["reset_option", "set_option", "use_catalog", "use_database"]


def set_option(session: TableSession, statement: SetOption) -> TableResult:
    """SET; without a key, the list of all set options."""
    if statement.key is None:
        row_type = RowType.of(("key", VarCharType()), ("value", VarCharType()))
        return TableResult.of_rows(row_type, list(session.config.to_dict().items()))
    session.config.set(statement.key, statement.value or "")
    return TableResult.ok()


def reset_option(session: TableSession, statement: ResetOption) -> TableResult:
    """RESET of one option; without a key, of all options."""
    session.config.reset(statement.key)
    return TableResult.ok()


def use_catalog(session: TableSession, statement: UseCatalog) -> TableResult:
    """USE CATALOG."""
    session.catalogs.use_catalog(statement.name)
    return TableResult.ok()


def use_database(session: TableSession, statement: UseDatabase) -> TableResult:
    """USE a database."""
    session.catalogs.use_database(statement.path)
    return TableResult.ok()
