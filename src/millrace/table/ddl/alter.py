"""ALTER statements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from sqlglot import exp

from millrace.common.errors import JobDefinitionError
from millrace.sql import statements as sql
from millrace.sql.parser import parse_expression
from millrace.sql.statements import AlterDatabase, AlterFunction, AlterTable, AlterView
from millrace.table.catalog.catalog_objects import CatalogFunction, CatalogTable, CatalogView
from millrace.table.catalog.errors import CatalogError, not_found
from millrace.table.ddl.changed_options import changed_options
from millrace.table.ddl.partitions import change_partitions
from millrace.table.ddl.schemas import column_of_statement, key_of, watermark_of
from millrace.table.schema import Schema, UnresolvedColumn, checked
from millrace.table.table_result import TableResult
from millrace.table.table_session import TableSession

__all__ = ["alter_database", "alter_function", "alter_table", "alter_view"]


def alter_table(session: TableSession, statement: AlterTable) -> TableResult:
    """ALTER TABLE: one action."""
    name = session.catalogs.qualified(statement.path)
    table = session.catalogs.table(name)
    if not isinstance(table, CatalogTable):
        if table is None and statement.if_exists:
            return TableResult.ok()
        raise not_found("table", name, session.catalogs.list_tables())
    if isinstance(statement.action, sql.Rename):
        session.catalogs.rename_table(name, statement.action.path[-1])
        return TableResult.ok()
    if isinstance(statement.action, sql.AddPartitions | sql.DropPartitions):
        return change_partitions(session, name, statement.action)
    change = _ACTIONS.get(type(statement.action))
    if change is None:
        raise JobDefinitionError(f"ALTER TABLE does not support {type(statement.action).__name__}")
    changed = change(table, statement.action)
    if isinstance(statement.action, sql.SetOptions):
        places = statement.option_places(statement.action.options, statement.path[-1])
        changed = replace(changed, option_places={**table.option_places, **places})
    if isinstance(statement.action, sql.AddSchema | sql.ModifySchema):
        session.check(name, changed)  # as CREATE TABLE: a mistake is told now
    session.catalogs.alter_table(name, changed)
    return TableResult.ok()


def _change_options(table: CatalogTable, action: sql.SetOptions | sql.ResetOptions) -> CatalogTable:
    return replace(table, options=changed_options(table.options, action, "connector", "table"))


def _add_schema(table: CatalogTable, action: sql.AddSchema) -> CatalogTable:
    schema, columns = table.schema, list(table.schema.columns)
    for position in action.columns:
        column = column_of_statement(position.column)
        if column.name in schema.names:
            raise CatalogError(f"there is a column {column.name!r} already; use MODIFY")
        columns.insert(_place(columns, position), column)
    if action.watermark is not None and schema.watermark is not None:
        raise CatalogError("the table has a watermark already; use MODIFY")
    if action.primary_key is not None and schema.primary_key is not None:
        raise CatalogError("the table has a primary key already; use MODIFY")
    return _with_schema(table, columns, action)


def _modify_schema(table: CatalogTable, action: sql.ModifySchema) -> CatalogTable:
    columns = list(table.schema.columns)
    for position in action.columns:
        column = column_of_statement(position.column)
        index = _index(columns, column.name)
        comment = column.comment or columns[index].comment
        column = replace(column, comment=comment)
        if position.first or position.after is not None:
            del columns[index]
            index = _place(columns, position)
            columns.insert(index, column)
        else:
            columns[index] = column
    if action.watermark is not None and table.schema.watermark is None:
        raise CatalogError("the table has no watermark; use ADD")
    if action.primary_key is not None and table.schema.primary_key is None:
        raise CatalogError("the table has no primary key; use ADD")
    return _with_schema(table, columns, action)


def _with_schema(
    table: CatalogTable, columns: Sequence[UnresolvedColumn], action: Any
) -> CatalogTable:
    schema = Schema(
        tuple(columns),
        watermark_of(action.watermark) or table.schema.watermark,
        key_of(action.primary_key) or table.schema.primary_key,
    )
    return replace(table, schema=checked(schema))


def _place(columns: Sequence[UnresolvedColumn], position: sql.ColumnPosition) -> int:
    if position.first:
        return 0
    return len(columns) if position.after is None else _index(columns, position.after) + 1


def _index(columns: Sequence[UnresolvedColumn], name: str) -> int:
    names = [column.name for column in columns]
    if name not in names:
        raise not_found("column", name, names)
    return names.index(name)


def _drop_columns(table: CatalogTable, action: sql.DropColumns) -> CatalogTable:
    columns = list(table.schema.columns)
    for path in action.columns:
        name = ".".join(path)
        if action.if_exists and name not in [column.name for column in columns]:
            continue
        index = _index(columns, name)
        _require_unused(table, name)
        del columns[index]
    return replace(table, schema=replace(table.schema, columns=tuple(columns)))


def _require_unused(table: CatalogTable, name: str) -> None:
    schema = table.schema
    users = []
    if schema.primary_key is not None and name in schema.primary_key.columns:
        users.append("the primary key")
    if schema.watermark is not None and name == schema.watermark.column:
        users.append("the watermark")
    if name in table.partition_keys:
        users.append("PARTITIONED BY")
    users += [
        f"the column {column.name!r}"
        for column in schema.columns
        if column.expression is not None and name in _columns_of(column.expression)
    ]
    if users:
        raise CatalogError(f"column {name!r} is used by {' and '.join(users)}; drop that first")


def _columns_of(expression: str) -> set[str]:
    """The columns that an expression reads."""
    columns = parse_expression(expression).find_all(exp.Column)
    return {part.name for column in columns for part in column.parts}


def _rename_column(table: CatalogTable, action: sql.RenameColumn) -> CatalogTable:
    name = ".".join(action.column)
    columns = list(table.schema.columns)
    index = _index(columns, name)
    _require_unused(table, name)
    columns[index] = replace(columns[index], name=action.name)
    return replace(table, schema=checked(replace(table.schema, columns=tuple(columns))))


def _drop_watermark(table: CatalogTable, action: sql.DropWatermark) -> CatalogTable:
    if table.schema.watermark is None:
        raise CatalogError("the table has no watermark")
    return replace(table, schema=replace(table.schema, watermark=None))


def _drop_key(table: CatalogTable, action: sql.DropPrimaryKey | sql.DropConstraint) -> CatalogTable:
    key = table.schema.primary_key
    wanted = action.name if isinstance(action, sql.DropConstraint) else None
    if key is None or (wanted is not None and wanted != key.name):
        what = "primary key" if wanted is None else f"constraint {wanted!r}"
        raise CatalogError(f"the table has no {what}")
    return replace(table, schema=replace(table.schema, primary_key=None))


_ACTIONS: dict[type, Callable[[CatalogTable, Any], CatalogTable]] = {
    sql.SetOptions: _change_options,
    sql.ResetOptions: _change_options,
    sql.AddSchema: _add_schema,
    sql.ModifySchema: _modify_schema,
    sql.DropColumns: _drop_columns,
    sql.RenameColumn: _rename_column,
    sql.DropWatermark: _drop_watermark,
    sql.DropPrimaryKey: _drop_key,
    sql.DropConstraint: _drop_key,
}


def alter_view(session: TableSession, statement: AlterView) -> TableResult:
    """ALTER VIEW ... RENAME TO, AS."""
    name = session.catalogs.qualified(statement.path)
    view = session.catalogs.table(name)
    if not isinstance(view, CatalogView):
        raise not_found("view", name, session.catalogs.list_views())
    if isinstance(statement.action, sql.Rename):
        session.catalogs.rename_table(name, statement.action.path[-1])
    else:
        changed = CatalogView(
            statement.action.query_text,
            columns=view.columns,
            comment=view.comment,
            place=session.catalogs.place,
        )
        session.catalogs.alter_table(name, changed)
    return TableResult.ok()


def alter_database(session: TableSession, statement: AlterDatabase) -> TableResult:
    """ALTER DATABASE ... SET."""
    catalog_name, name = session.catalogs.qualified_database(statement.path)
    catalog = session.catalogs.catalog(catalog_name)
    database = catalog.database(name)
    options = {**database.options, **statement.action.options}
    catalog.alter_database(name, replace(database, options=options))
    return TableResult.ok()


def alter_function(session: TableSession, statement: AlterFunction) -> TableResult:
    """ALTER FUNCTION ... AS."""
    catalogs = session.catalogs
    if catalogs.function(statement.path) is None:
        if statement.if_exists:
            return TableResult.ok()
        raise not_found("function", ".".join(statement.path), catalogs.list_functions())
    function = CatalogFunction(statement.class_name)
    if statement.system:
        catalogs.system_functions[statement.path[-1].lower()] = function
    elif statement.temporary:
        catalogs.create_temporary_function(statement.path, function)
    else:
        path = catalogs.qualified(statement.path)
        catalogs.catalog(path.catalog).alter_function(path.path, function, statement.if_exists)
    return TableResult.ok()
