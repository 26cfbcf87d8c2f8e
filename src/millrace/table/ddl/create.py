"""CREATE statements."""

from __future__ import annotations

from sqlglot import exp

from millrace.common.errors import JobDefinitionError
from millrace.common.types.logical.logical_type import NullType
from millrace.planner.binder.errors import SqlValidationError
from millrace.planner.catalog_reader import ColumnKind
from millrace.planner.relational.rel_node import RelNode
from millrace.sql.dialect.nodes import names_of
from millrace.sql.position import position_of
from millrace.sql.statements import (
    CreateCatalog,
    CreateDatabase,
    CreateFunction,
    CreateTable,
    CreateView,
    LikeClause,
)
from millrace.table.catalog.catalog_factories import catalog_of
from millrace.table.catalog.catalog_objects import (
    CatalogDatabase,
    CatalogDescriptor,
    CatalogFunction,
    CatalogTable,
    CatalogView,
)
from millrace.table.catalog.errors import CatalogError, already_exists, not_found
from millrace.table.catalog.object_path import ObjectIdentifier
from millrace.table.connectors.registry import factory_of
from millrace.table.ddl.schemas import (
    column_of_statement,
    key_of,
    schema_of_statement,
    watermark_of,
)
from millrace.table.inserts import sink_of
from millrace.table.schema import Schema, UnresolvedColumn, checked
from millrace.table.table_result import TableResult
from millrace.table.table_session import TableSession

__all__ = [
    "create_catalog",
    "create_database",
    "create_function",
    "create_table",
    "create_view",
]


def create_table(session: TableSession, statement: CreateTable) -> TableResult:
    """CREATE TABLE, also with LIKE."""
    name = session.catalogs.qualified(statement.path)
    if statement.query is not None:
        return _create_as(session, name, statement)
    if _taken(session, name, statement.temporary, statement.if_not_exists):
        return TableResult.ok()
    table = CatalogTable(
        schema_of_statement(statement),
        dict(statement.options),
        statement.partitioned_by,
        statement.comment,
        option_places=statement.option_places(statement.options, statement.path[-1]),
    )
    if statement.like is not None:
        table = _like(session, table, statement.like)
    _require_partitions(table)
    session.check(name, table)  # expressions are checked now, not when they are used
    if statement.temporary or _is_session_catalog(session, name):
        factory_of(table.options)  # an unknown connector is told now, not when it is used
    _add(session, name, table, statement.temporary)
    return TableResult.ok()


def _create_as(
    session: TableSession, name: ObjectIdentifier, statement: CreateTable
) -> TableResult:
    """CREATE [OR REPLACE] TABLE ... AS: the table, then a job that fills it.

    If the query cannot run there is no new table, and the old one stays. If its job fails later
    there is the table, with what was written.
    """
    if statement.temporary:
        raise JobDefinitionError(
            "CREATE TEMPORARY TABLE ... AS is not supported: make the table, then INSERT INTO it"
        )
    catalog = session.catalogs.catalog(name.catalog)
    old = catalog.table(name.path)
    if not statement.or_replace and _taken(session, name, False, statement.if_not_exists):
        return TableResult.ok()
    if isinstance(old, CatalogView) or session.catalogs.is_temporary(name):
        raise already_exists("view or temporary table", name)
    table, query = _table_of_query(session, statement)
    _require_partitions(table)
    factory_of(table.options)
    if old is not None:
        catalog.drop_table(name.path)
    catalog.create_table(name.path, table)
    try:
        sink = sink_of(session, tuple(name), query, columns=query.row_type.names)
        return session.insert([sink])
    except JobDefinitionError:
        catalog.drop_table(name.path)
        if old is not None:
            catalog.create_table(name.path, old)
        raise


def _is_session_catalog(session: TableSession, name: ObjectIdentifier) -> bool:
    return name.catalog == session.catalogs.builtin


def _taken(session: TableSession, name: ObjectIdentifier, temporary: bool, allowed: bool) -> bool:
    """Whether an object with the name exists; raises if one exists and the statement does not
    allow this."""
    if temporary:
        exists = session.catalogs.is_temporary(name)
    else:
        exists = session.catalogs.catalog(name.catalog).table(name.path) is not None
    if exists and not allowed:
        raise already_exists("table or view", name)
    return exists


def _add(
    session: TableSession,
    name: ObjectIdentifier,
    table: CatalogTable | CatalogView,
    temporary: bool,
) -> None:
    if temporary:
        session.catalogs.create_temporary(name, table)
    else:
        session.catalogs.catalog(name.catalog).create_table(name.path, table)


def _require_partitions(table: CatalogTable) -> None:
    for name in table.partition_keys:
        if name not in table.schema.names:
            raise CatalogError(
                f"PARTITIONED BY names {name!r}; the columns are {', '.join(table.schema.names)}",
                name,
            )


def _like(session: TableSession, table: CatalogTable, like: LikeClause) -> CatalogTable:
    """The table with the parts that LIKE copies from another one. Flink docs: CREATE TABLE,
    "LIKE"."""
    name = session.catalogs.qualified(like.path)
    other = session.catalogs.table(name)
    if not isinstance(other, CatalogTable):
        raise not_found("table", name, session.catalogs.list_tables())
    strategies = dict.fromkeys(_INCLUDED, "INCLUDING") | {"OPTIONS": "OVERWRITING"}
    for option in like.options:
        if option.feature == "ALL":
            strategies = dict.fromkeys(strategies, option.merging)
    for option in like.options:
        strategies[option.feature] = option.merging
    return CatalogTable(
        _merged_schema(table.schema, other.schema, strategies),
        _merged_options(table, other, strategies["OPTIONS"]),
        table.partition_keys
        or (other.partition_keys if strategies["PARTITIONS"] != "EXCLUDING" else ()),
        table.comment,
        option_places={**other.option_places, **table.option_places},
    )


_INCLUDED = ("CONSTRAINTS", "PARTITIONS", "GENERATED", "METADATA", "WATERMARKS")


def _merged_options(table: CatalogTable, other: CatalogTable, strategy: str) -> dict[str, str]:
    if strategy == "EXCLUDING":
        return dict(table.options)
    for key in table.options:
        if strategy == "INCLUDING" and key in other.options:
            raise JobDefinitionError(
                f"the option {key!r} is set in both tables; use OVERWRITING OPTIONS for the "
                "value of the new table"
            )
    return {**other.options, **table.options}


def _merged_schema(schema: Schema, other: Schema, strategies: dict[str, str]) -> Schema:
    left_out = set()
    if strategies["GENERATED"] == "EXCLUDING":
        left_out.add(ColumnKind.COMPUTED)
    if strategies["METADATA"] == "EXCLUDING":
        left_out.add(ColumnKind.METADATA)
    taken = [column for column in other.columns if column.kind not in left_out]
    overwriting = {
        kind
        for kind, feature in (
            (ColumnKind.COMPUTED, "GENERATED"),
            (ColumnKind.METADATA, "METADATA"),
        )
        if strategies[feature] == "OVERWRITING"
    }
    mine = {column.name: column for column in schema.columns}
    for column in taken:
        clash = mine.get(column.name)
        if clash is not None and clash.kind not in overwriting:
            raise JobDefinitionError(f"both tables have a column {column.name!r}")
    columns = [column for column in taken if column.name not in mine] + list(schema.columns)
    watermark = schema.watermark
    if watermark is None and strategies["WATERMARKS"] != "EXCLUDING":
        watermark = other.watermark
    key = schema.primary_key
    if key is None and strategies["CONSTRAINTS"] != "EXCLUDING":
        key = other.primary_key
    return checked(Schema(tuple(columns), watermark, key))


def create_view(session: TableSession, statement: CreateView) -> TableResult:
    """CREATE VIEW; its query is stored as text, and bound when the view is used."""
    name = session.catalogs.qualified(statement.path)
    if _taken(session, name, statement.temporary, statement.if_not_exists):
        return TableResult.ok()
    view = CatalogView(
        statement.query_text,
        columns=statement.columns,
        comment=statement.comment,
        place=session.catalogs.place,
    )
    given = session.bind_query(statement.query, statement.text).row_type.names
    if not statement.columns:
        _require_distinct(statement)
    if statement.columns and len(statement.columns) != len(given):
        raise CatalogError(
            f"the view has {len(statement.columns)} columns, but its query has "
            f"{len(given)}: {', '.join(given)}",
            name.name,
        )
    _add(session, name, view, statement.temporary)
    return TableResult.ok()


def _require_distinct(statement: CreateView) -> None:
    """Require distinct column names for a view: in a query, a second ``id`` is called ``id0``."""
    known: list[str] = []
    for item in statement.query.args.get("expressions") or ():
        written = (item.alias,) if isinstance(item, exp.Alias) else names_of(item)
        name = "*" if written is None else written[-1]
        if name != "*" and name in known:
            raise SqlValidationError(
                f"the view has a column {name!r} already: rename one of the two with AS",
                statement.text,
                position_of(item),
            )
        known.append(name)


def create_database(session: TableSession, statement: CreateDatabase) -> TableResult:
    """CREATE DATABASE: adds a database to a catalog."""
    catalog_name, database = session.catalogs.qualified_database(statement.path)
    catalog = session.catalogs.catalog(catalog_name)
    if database in catalog.list_databases():
        if not statement.if_not_exists:
            raise already_exists("database", database)
        return TableResult.ok()
    catalog.create_database(database, CatalogDatabase(dict(statement.options), statement.comment))
    return TableResult.ok()


def create_catalog(session: TableSession, statement: CreateCatalog) -> TableResult:
    """CREATE CATALOG; the option ``type`` names its kind."""
    if statement.if_not_exists and statement.name in session.catalogs.list_catalogs():
        return TableResult.ok()
    catalog = catalog_of(statement.name, statement.options)
    declared = CatalogDescriptor(dict(statement.options), statement.comment)
    session.catalogs.register_catalog(statement.name, catalog, declared)
    return TableResult.ok()


def create_function(session: TableSession, statement: CreateFunction) -> TableResult:
    """CREATE FUNCTION of a Python function."""
    if (statement.language or "PYTHON").upper() != "PYTHON":
        raise JobDefinitionError(
            f"functions in {statement.language} are not supported; write the function in "
            "Python, with LANGUAGE PYTHON"
        )
    function = CatalogFunction(statement.class_name)
    exists = session.catalogs.function(statement.path) is not None
    if exists and statement.if_not_exists:
        return TableResult.ok()
    if exists:
        raise already_exists("function", ".".join(statement.path))
    if statement.system:
        session.catalogs.system_functions[statement.path[-1].lower()] = function
    elif statement.temporary:
        session.catalogs.create_temporary_function(statement.path, function)
    else:
        name = session.catalogs.qualified(statement.path)
        session.catalogs.catalog(name.catalog).create_function(name.path, function)
    return TableResult.ok()


def _table_of_query(session: TableSession, statement: CreateTable) -> tuple[CatalogTable, RelNode]:
    """The table of CREATE TABLE ... AS, with the statement's and the query's columns; and the
    query.

    Columns that the statement declares come first; one of the name of a column of the query has
    the declared type, to which the query's values are cast.

    Raises:
        JobDefinitionError: columns do not fit together.
    """
    assert statement.query is not None
    query = session.bind_query(statement.query, statement.text)
    own = {
        field.name: UnresolvedColumn(field.name, ColumnKind.PHYSICAL, field.type)
        for field in query.row_type.fields
    }
    for field in query.row_type.fields:
        if isinstance(field.type, NullType):
            raise JobDefinitionError(
                f"column {field.name} of the query is NULL, which has no type: use "
                "CAST(NULL AS ...)"
            )
    columns = tuple(own.values())
    if statement.column_names:
        if sorted(statement.column_names) != sorted(own):
            raise JobDefinitionError(
                f"CREATE TABLE names the columns {', '.join(statement.column_names)}, and the "
                f"query gives {', '.join(own)}: the names must be the same, in any order"
            )
        columns = tuple(own[name] for name in statement.column_names)
    declared = tuple(column_of_statement(column) for column in statement.columns)
    names = {column.name for column in declared}
    columns = (*declared, *(column for column in columns if column.name not in names))
    watermark, key = watermark_of(statement.watermark), key_of(statement.primary_key)
    table = CatalogTable(
        checked(Schema(columns, watermark, key)),
        dict(statement.options),
        statement.partitioned_by,
        statement.comment,
        option_places=statement.option_places(statement.options, statement.path[-1]),
    )
    return table, query
