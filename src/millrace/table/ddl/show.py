"""SHOW statements. Columns of results have Flink's names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

from millrace.common.errors import JobDefinitionError
from millrace.common.types.logical.base_type import literal as sql_text
from millrace.common.types.logical.logical_type import BooleanType, RowType, VarCharType, quoted
from millrace.expressions import registry
from millrace.sql.statements import Show, ShowCreate, ShowKind
from millrace.table.catalog.catalog_objects import CatalogTable, CatalogView
from millrace.table.catalog.errors import CatalogError, not_found
from millrace.table.catalog.object_path import ObjectIdentifier
from millrace.table.ddl.describe import columns_result
from millrace.table.ddl.jobs import show_jobs
from millrace.table.ddl.models import model_text, models_of
from millrace.table.ddl.partitions import show_partitions
from millrace.table.table_result import TableResult
from millrace.table.table_session import TableSession

__all__ = ["matches_like", "show", "show_create"]


def show(session: TableSession, statement: Show) -> TableResult:
    """SHOW: lists the names of objects.

    Raises:
        JobDefinitionError: there is nothing of the kind here.
    """
    if statement.kind is ShowKind.COLUMNS:
        return columns_result(session, statement.path or (), _filter(statement))
    if statement.kind is ShowKind.PARTITIONS:
        return show_partitions(session, statement)
    if statement.kind is ShowKind.JOBS:
        return show_jobs(session)
    if statement.kind is ShowKind.FULL_MODULES:
        columns = RowType.of(("module name", VarCharType()), ("used", BooleanType()))
        return TableResult.of_rows(columns, [("core", True)])
    listed = _LISTS.get(statement.kind)
    if listed is None:
        raise JobDefinitionError(f"SHOW {statement.kind.value} is not supported")
    column, names = listed
    matching = list(filter(_filter(statement), names(session, statement)))
    return TableResult.of_rows(RowType.of((column, VarCharType())), [(name,) for name in matching])


def _filter(statement: Show) -> Callable[[str], bool]:
    pattern = statement.pattern
    if pattern is None:
        return lambda name: True
    ignore_case = statement.like == "ILIKE"
    return lambda name: matches_like(name, pattern, ignore_case) != statement.negated


def matches_like(text: str, pattern: str, ignore_case: bool = False) -> bool:
    """Whether a text matches a pattern of SQL: ``%`` is any text, ``_`` any character.

    >>> matches_like("orders", "o%_s")
    True
    """
    parts = (".*" if sign == "%" else "." if sign == "_" else re.escape(sign) for sign in pattern)
    flags = re.DOTALL | (re.IGNORECASE if ignore_case else 0)
    return re.fullmatch("".join(parts), text, flags) is not None


def _databases(session: TableSession, statement: Show) -> Iterable[str]:
    name = statement.path[0] if statement.path else session.catalogs.current_catalog
    return session.catalogs.catalog(name).list_databases()


def _tables(session: TableSession, statement: Show) -> Iterable[str]:
    return session.catalogs.list_tables(*_database(session, statement))


def _views(session: TableSession, statement: Show) -> Iterable[str]:
    return session.catalogs.list_views(*_database(session, statement))


def _functions(session: TableSession, statement: Show) -> Iterable[str]:
    """The user's and built-in functions that have names; operators have none."""
    built_in = {
        function.name.lower() for function in registry.functions() if function.name[0].isalpha()
    }
    return sorted({name for name in built_in if " " not in name} | set(_user_functions(session)))


def _user_functions(session: TableSession) -> Iterable[str]:
    return session.catalogs.list_functions()


def _database(session: TableSession, statement: Show) -> tuple[str | None, str | None]:
    if not statement.path:
        return None, None
    return session.catalogs.qualified_database(statement.path)


_LISTS: dict[ShowKind, tuple[str, Callable[[TableSession, Show], Iterable[str]]]] = {
    ShowKind.CATALOGS: ("catalog name", lambda s, _: s.catalogs.list_catalogs()),
    ShowKind.CURRENT_CATALOG: ("current catalog name", lambda s, _: [s.catalogs.current_catalog]),
    ShowKind.DATABASES: ("database name", _databases),
    ShowKind.CURRENT_DATABASE: (
        "current database name",
        lambda s, _: [s.catalogs.current_database],
    ),
    ShowKind.TABLES: ("table name", _tables),
    ShowKind.VIEWS: ("view name", _views),
    ShowKind.USER_FUNCTIONS: ("function name", lambda s, _: _user_functions(s)),
    ShowKind.FUNCTIONS: ("function name", _functions),
    ShowKind.MODELS: ("model name", models_of),
    ShowKind.MODULES: ("module name", lambda s, _: ["core"]),
    ShowKind.JARS: ("jars", lambda s, _: []),
}


def show_create(session: TableSession, statement: ShowCreate) -> TableResult:
    """SHOW CREATE TABLE, VIEW, MODEL and CATALOG."""
    if statement.kind == "MODEL":
        return TableResult.of_text(model_text(session, statement.path))
    if statement.kind == "CATALOG":
        return TableResult.of_text(_catalog_text(session, statement.path[-1]))
    name = session.catalogs.qualified(statement.path)
    table = session.catalogs.table(name)
    temporary = "TEMPORARY " if session.catalogs.is_temporary(name) else ""
    if statement.kind == "VIEW" and isinstance(table, CatalogView):
        text = _view_text(name, table, temporary)
    elif statement.kind == "TABLE" and isinstance(table, CatalogTable):
        text = _table_text(name, table, temporary)
    elif table is not None:
        other = "VIEW" if statement.kind == "TABLE" else "TABLE"
        raise CatalogError(
            f"{name} is a {other.lower()}: use SHOW CREATE {other}", statement.path[-1]
        )
    else:
        raise not_found(statement.kind.lower(), name, session.catalogs.list_tables())
    return TableResult.of_text(text)


def _catalog_text(session: TableSession, name: str) -> str:
    descriptor = session.catalogs.declared(name)
    lines = [f"CREATE CATALOG {quoted(name)}"]
    if descriptor.comment:
        lines.append(f"COMMENT {sql_text(descriptor.comment)}")
    return "\n".join([*lines, _with_text(descriptor.options), ""])


def _with_text(options: Mapping[str, str]) -> str:
    pairs = (f"  {sql_text(key)} = {sql_text(value)}" for key, value in options.items())
    return "WITH (\n" + ",\n".join(pairs) + "\n)"


def _table_text(name: ObjectIdentifier, table: CatalogTable, temporary: str) -> str:
    lines = [f"CREATE {temporary}TABLE {name} {table.schema}"]
    if table.comment:
        lines.append(f"COMMENT {sql_text(table.comment)}")
    if table.partition_keys:
        lines.append(f"PARTITIONED BY ({', '.join(map(quoted, table.partition_keys))})")
    if table.options:
        lines.append(_with_text(table.options))
    return "\n".join([*lines, ""])


def _view_text(name: ObjectIdentifier, view: CatalogView, temporary: str) -> str:
    if view.query is not None:
        raise JobDefinitionError(
            f"view {name} was made from a Table of a program, so it has no SQL text"
        )
    columns = f" ({', '.join(map(quoted, view.columns))})" if view.columns else ""
    comment = f"COMMENT {sql_text(view.comment)}\n" if view.comment else ""
    return f"CREATE {temporary}VIEW {name}{columns}\n{comment}AS {view.text}"
