"""DROP statements."""

from __future__ import annotations

from millrace.common.types.logical.logical_type import quoted
from millrace.sql.statements import (
    DropCatalog,
    DropDatabase,
    DropFunction,
    DropTable,
    DropView,
)
from millrace.table.catalog.catalog_objects import CatalogTable, CatalogView
from millrace.table.catalog.errors import CatalogError, not_found
from millrace.table.table_result import TableResult
from millrace.table.table_session import TableSession

__all__ = ["drop_catalog", "drop_database", "drop_function", "drop_table", "drop_view"]


def drop_table(session: TableSession, statement: DropTable) -> TableResult:
    """DROP TABLE."""
    return _drop(session, statement, CatalogTable, "table")


def drop_view(session: TableSession, statement: DropView) -> TableResult:
    """DROP VIEW."""
    return _drop(session, statement, CatalogView, "view")


def _drop(
    session: TableSession,
    statement: DropTable | DropView,
    kind: type[CatalogTable] | type[CatalogView],
    word: str,
) -> TableResult:
    catalogs = session.catalogs
    name = catalogs.qualified(statement.path)
    if statement.temporary:
        if not catalogs.drop_temporary(name, kind) and not statement.if_exists:
            raise not_found(f"temporary {word}", name, catalogs.list_temporary(kind is CatalogView))
        return TableResult.ok()
    if catalogs.is_temporary(name):
        raise CatalogError(
            f"{name} is a temporary {word}, which hides the catalog's object of this name: "
            f"use DROP TEMPORARY {word.upper()} first"
        )
    table = catalogs.table(name)
    if not isinstance(table, kind):
        if table is not None:
            other = "VIEW" if isinstance(table, CatalogView) else "TABLE"
            raise CatalogError(f"{name} is not a {word}: use DROP {other} {quoted(name.name)}")
        if not statement.if_exists:
            raise not_found(word, name, catalogs.list_tables())
        return TableResult.ok()
    catalogs.catalog(name.catalog).drop_table(name.path)
    return TableResult.ok()


def drop_database(session: TableSession, statement: DropDatabase) -> TableResult:
    """DROP DATABASE."""
    catalogs = session.catalogs
    catalog_name, database = catalogs.qualified_database(statement.path)
    catalog = catalogs.catalog(catalog_name)
    if database not in catalog.list_databases():
        if not statement.if_exists:
            raise not_found("database", database, catalog.list_databases())
        return TableResult.ok()
    if (catalog_name, database) == (catalogs.current_catalog, catalogs.current_database):
        raise CatalogError(f"database {database} is in use; use another one first (USE)")
    catalog.drop_database(database, cascade=statement.cascade)
    return TableResult.ok()


def drop_catalog(session: TableSession, statement: DropCatalog) -> TableResult:
    """DROP CATALOG."""
    if statement.name not in session.catalogs.list_catalogs() and statement.if_exists:
        return TableResult.ok()
    session.catalogs.unregister_catalog(statement.name)
    return TableResult.ok()


def drop_function(session: TableSession, statement: DropFunction) -> TableResult:
    """DROP FUNCTION."""
    catalogs = session.catalogs
    name = statement.path[-1].lower()
    if statement.system:
        dropped = catalogs.system_functions.pop(name, None) is not None
    elif statement.temporary:
        dropped = catalogs.drop_temporary_function(statement.path)
    else:
        path = catalogs.qualified(statement.path)
        catalog = catalogs.catalog(path.catalog)
        dropped = catalog.function(path.path) is not None
        if dropped:
            catalog.drop_function(path.path)
    if not dropped and not statement.if_exists:
        raise not_found("function", ".".join(statement.path), catalogs.list_functions())
    return TableResult.ok()
