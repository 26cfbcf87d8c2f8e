"""Tables of catalogs, resolved for the planner: types derived, expressions bound.

`SessionCatalog` is the `CatalogReader` of a session.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from millrace.common.errors import JobDefinitionError
from millrace.common.source import Boundedness
from millrace.common.types.logical.logical_type import (
    LocalZonedTimestampType,
    LogicalType,
    RowField,
    RowType,
    TimestampType,
)
from millrace.expressions import registry
from millrace.expressions.function_definition import FunctionDefinition
from millrace.expressions.resolved import Call, ResolvedExpression
from millrace.planner.catalog_reader import (
    SOURCE_WATERMARK,
    ColumnKind,
    NameKind,
    ResolvedColumn,
    ResolvedModel,
    ResolvedTable,
    ResolvedView,
    ResolvedWatermark,
)
from millrace.planner.execution.table_factory import DataStreamAccess
from millrace.planner.execution.table_options import OptionError, option_place
from millrace.planner.relational.unsupported_query import UnsupportedQueryError
from millrace.table.catalog.catalog_manager import CatalogManager
from millrace.table.catalog.catalog_objects import CatalogFunction, CatalogTable, CatalogView
from millrace.table.catalog.errors import CatalogError
from millrace.table.catalog.imported_functions import function_of
from millrace.table.catalog.object_path import ObjectIdentifier
from millrace.table.connectors.registry import factory_of
from millrace.table.schema import Schema, UnresolvedColumn

__all__ = ["SessionCatalog", "resolved_columns", "resolved_table"]

BindExpression = Callable[[str, RowType], ResolvedExpression]
"""Resolves an SQL expression over the fields of a row."""


class SessionCatalog:
    """Resolution of names in a session.

    Args:
        place: a catalog and a database in place of the current ones.
    """

    def __init__(
        self,
        manager: CatalogManager,
        bind: BindExpression,
        place: tuple[str, str] | None = None,
    ) -> None:
        self._manager = manager
        self._bind = bind
        self._place = place
        self._functions: dict[tuple[CatalogFunction, str], FunctionDefinition] = {}

    @property
    def current_catalog(self) -> str:
        """The catalog of names that do not name a catalog."""
        return self._manager.current_catalog if self._place is None else self._place[0]

    @property
    def current_database(self) -> str:
        """The database of names that do not name a database."""
        return self._manager.current_database if self._place is None else self._place[1]

    def _in_full(self, name: Sequence[str]) -> Sequence[str]:
        return name if self._place is None else (*self._place[: max(0, 3 - len(name))], *name)

    def resolve_table(self, name: Sequence[str]) -> ResolvedTable | ResolvedView | None:
        """The table or view with a name of one to three parts."""
        path = self._manager.qualified(self._in_full(name))
        table = self._manager.table(path)
        if table is None:
            return None
        if isinstance(table, CatalogView):
            query = table.text if table.query is None else table.query
            reader = table.place and SessionCatalog(self._manager, self._bind, table.place)
            return ResolvedView(tuple(path), query, table.columns, table.comment, reader or None)
        return resolved_table(path, table, self._bind)

    def resolve_function(self, name: Sequence[str]) -> FunctionDefinition | None:
        """The user's function with the given name. None if there is none, or if a system function
        of that name takes precedence.

        Raises:
            CatalogError: the function cannot be imported.
        """
        system = len(name) == 1 and name[0].lower() not in self._manager.system_functions
        if system and registry.find(name[0]) is not None:
            return None
        of_system = len(name) == 1 and name[0].lower() in self._manager.system_functions
        function = self._manager.function(name if of_system else self._in_full(name))
        if function is None:
            return None
        called = function, name[-1].lower()
        if called not in self._functions:  # two calls are the same if their definitions are
            self._functions[called] = function_of(function).definition(name[-1])
        return self._functions[called]

    def resolve_model(self, name: Sequence[str]) -> ResolvedModel | None:
        """The model with the given name, ready to be called; None if there is none.

        Raises:
            JobDefinitionError: the provider cannot load the model.
        """
        path = self._manager.qualified(self._in_full(name))
        model = self._manager.models.find(path)
        return None if model is None else self._manager.models.resolved(path, model)

    def names(self, kind: NameKind) -> Sequence[str]:
        """Known names, for error messages."""
        return self._manager.names(kind)


def resolved_table(
    path: ObjectIdentifier, table: CatalogTable, bind: BindExpression
) -> ResolvedTable:
    """A table with the types of its columns, bound expressions, and properties from its connector.

    Raises:
        JobDefinitionError: as `resolved_columns`, or the connector is unknown.
    """
    made = resolved_columns(path, table, bind)
    if isinstance(table.access, DataStreamAccess):
        return replace(made, changes=table.access.changes)
    if table.access is not None:
        return replace(made, changes=table.access.changes(made, table.options))
    return _with_connector(made)


def resolved_columns(
    path: ObjectIdentifier, table: CatalogTable, bind: BindExpression
) -> ResolvedTable:
    """A table with bound expressions and the types of its columns. Its connector is not asked.

    Raises:
        JobDefinitionError: an expression is wrong, or the watermark or the primary key is of a
            column that cannot be one.
    """
    columns = _columns(table.schema, bind)
    row_type = RowType(tuple(RowField(column.name, column.type) for column in columns))
    return ResolvedTable(
        tuple(path),
        columns,
        _watermark(table.schema, row_type, bind),
        _key(table.schema, columns),
        table.partition_keys,
        table.options,
        table.comment,
        source=table.access or factory_of,
        repeats=getattr(table.access, "repeats", True),
        bounded=table.bounded,
        option_places=table.option_places,
    )


def _with_connector(table: ResolvedTable) -> ResolvedTable:
    try:
        factory = factory_of(table.options)
        return replace(
            table,
            changes=factory.changes(table, table.options),
            accepts=factory.accepts(table, table.options),
            lookup=factory.lookup,
            bounded=factory.boundedness(table, table.options) is Boundedness.BOUNDED,
        )
    except (CatalogError, OptionError) as error:
        error.place = error.place or option_place(error, table.option_places)
        raise
    except JobDefinitionError as error:
        place = option_place(error, table.option_places)
        if place is None:
            raise
        raise UnsupportedQueryError(str(error), place) from error


def _columns(schema: Schema, bind: BindExpression) -> tuple[ResolvedColumn, ...]:
    given = [column for column in schema.columns if column.kind is not ColumnKind.COMPUTED]
    key = () if schema.primary_key is None else schema.primary_key.columns
    scan_type = RowType(tuple(RowField(column.name, _type(column, key)) for column in given))
    return tuple(_column(column, key, scan_type, bind) for column in schema.columns)


def _type(column: UnresolvedColumn, key: tuple[str, ...]) -> LogicalType:
    assert column.type is not None
    return column.type.not_null() if column.name in key else column.type


def _column(
    column: UnresolvedColumn, key: tuple[str, ...], scan_type: RowType, bind: BindExpression
) -> ResolvedColumn:
    if column.kind is not ColumnKind.COMPUTED:
        return ResolvedColumn(
            column.name,
            _type(column, key),
            column.kind,
            column.metadata_key,
            column.virtual,
            comment=column.comment,
        )
    assert column.expression is not None
    bound = bind(column.expression, scan_type)
    return ResolvedColumn(
        column.name, bound.output_type, column.kind, expression=bound, comment=column.comment
    )


def _watermark(schema: Schema, row_type: RowType, bind: BindExpression) -> ResolvedWatermark | None:
    if schema.watermark is None:
        return None
    name = schema.watermark.column
    if name not in row_type.names:
        raise CatalogError(
            f"WATERMARK FOR {name}: there is no such column; the columns are "
            f"{', '.join(row_type.names)}",
            name,
        )
    index = row_type.names.index(name)
    kind = row_type.fields[index].type
    if not isinstance(kind, _TIMES) or kind.precision > 3:
        raise CatalogError(
            f"WATERMARK FOR {name}: the type of a time attribute must be TIMESTAMP(p) or "
            f"TIMESTAMP_LTZ(p) with p from 0 to 3, but {name} has type {kind}",
            name,
        )
    expression = schema.watermark.expression
    if expression.replace(" ", "").upper() == f"{SOURCE_WATERMARK.name}()":
        own = Call(SOURCE_WATERMARK, (), kind)
        return ResolvedWatermark(index, own)
    bound = bind(expression, row_type)
    _require_time(name, kind, bound.output_type)
    return ResolvedWatermark(index, bound)


_TIMES = (TimestampType, LocalZonedTimestampType)


def _require_time(name: str, time: LogicalType, watermark: LogicalType) -> None:
    """Check that a watermark has the same kind of time as its column."""
    if not isinstance(watermark, _TIMES) or watermark.precision > 3:
        raise CatalogError(
            f"WATERMARK FOR {name}: the type of a watermark's expression must be "
            f"TIMESTAMP(p) or TIMESTAMP_LTZ(p) with p from 0 to 3, but it is {watermark}",
            name,
        )
    if isinstance(watermark, TimestampType) != isinstance(time, TimestampType):
        raise CatalogError(
            f"WATERMARK FOR {name}: the expression of a watermark must have the type of its "
            f"column, but the expression has type {watermark} and {name} has type {time}",
            name,
        )


def _key(schema: Schema, columns: tuple[ResolvedColumn, ...]) -> tuple[str, ...]:
    if schema.primary_key is None:
        return ()
    physical = {column.name for column in columns if column.kind is ColumnKind.PHYSICAL}
    for name in schema.primary_key.columns:
        if name not in physical:
            raise CatalogError(
                f"the primary key names {name}, which is not a physical column of the table", name
            )
    return schema.primary_key.columns
