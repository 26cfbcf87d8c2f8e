"""USE: changes the current catalog and database."""

from __future__ import annotations

from millrace.sql.statements import UseCatalog, UseDatabase
from millrace.table.table_result import TableResult
from millrace.table.table_session import TableSession

__all__ = ["use_catalog", "use_database"]


def use_catalog(session: TableSession, statement: UseCatalog) -> TableResult:
    """USE CATALOG."""
    session.catalogs.use_catalog(statement.name)
    return TableResult.ok()


def use_database(session: TableSession, statement: UseDatabase) -> TableResult:
    """USE a database."""
    session.catalogs.use_database(statement.path)
    return TableResult.ok()
