"""`Table`: a query that has not run yet. Flink: interface ``Table``; Flink docs: "Table API"."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from millrace.common.types.logical.logical_type import RowField, RowType, quoted
from millrace.expressions import built_in
from millrace.expressions.call_options import FieldPosition
from millrace.expressions.resolved import Call, ResolvedExpression
from millrace.other_paths import late_names
from millrace.planner.catalog_reader import ResolvedTable
from millrace.planner.relational.outer_references import from_inside
from millrace.planner.relational.rel_node import RelNode
from millrace.sql.dialect import nodes
from millrace.table.catalog.catalog_objects import CatalogView
from millrace.table.catalog.resolved_schema import ResolvedSchema, resolved_schema
from millrace.table.column_selection import no_such_column
from millrace.table.explain_detail import ExplainDetail
from millrace.table.expression import Expression, unaliased
from millrace.table.expressions import col
from millrace.table.functions.temporal_table_function import TemporalTableFunction
from millrace.table.inserts import sink_to
from millrace.table.operation_tree_builder import OperationTreeBuilder
from millrace.table.plan_text import explained_plan
from millrace.table.process_calls import PartitionedTable, called_rows, table_argument
from millrace.table.table_descriptor import TableDescriptor
from millrace.table.table_picture import TablePicture, ends
from millrace.table.table_pipeline import TablePipeline
from millrace.table.table_result import TableResult
from millrace.table.table_schema import TableSchema
from millrace.table.table_session import TableSession
from millrace.table.window import GroupWindow, OverWindow, group_window, over_window

if TYPE_CHECKING:
    import pyarrow

__all__ = [
    "AggregatedTable",
    "FlatAggregateTable",
    "GroupWindowedTable",
    "GroupedTable",
    "OverWindowedTable",
    "Table",
    "WindowGroupedTable",
]


class Table(TablePicture):
    """A query, or a table of a catalog, made by a `TableEnvironment`. Its methods return new
    tables.

    Names and types are looked at as soon as a method is called. ``table.a`` is ``col("a")``, and a
    table stands for itself in the text of a query: ``f"SELECT * FROM {table}"``.

    Example:
        >>> from millrace.table import EnvironmentSettings, TableEnvironment
        >>> from millrace.table.expressions import col
        >>> from millrace.testing import run_local
        >>> with run_local():
        ...     t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
        ...     orders = t_env.from_elements([("a", 2), ("b", 5), ("a", 4)], ["who", "amount"])
        ...     totals = orders.group_by(col("who")).select(col("who"), col("amount").sum)
        ...     sorted(tuple(row) for row in totals.execute().collect())
        [('a', 6), ('b', 5)]
    """

    def __init__(
        self, session: TableSession, node: RelNode, declared: ResolvedTable | None = None
    ) -> None:
        self._session = session
        self.node = node
        self._declared = declared

    def __getattr__(self, name: str) -> Expression:
        # what Python, pickle and notebooks look for is no column; a table that is being copied has
        # no node yet
        if name.startswith("_") or name == "node":
            raise AttributeError(name)
        if name not in self.node.row_type.names:
            raise AttributeError(no_such_column(name, self.node.row_type.names))
        return col(name)

    def __str__(self) -> str:
        name = self._session.anonymous_name("table")
        path = self._session.catalogs.qualified((name,))
        self._session.catalogs.create_temporary(path, CatalogView("", self.node))
        return quoted(name)

    def __repr__(self) -> str:
        columns = ", ".join(map(str, self.node.row_type.fields))
        return f"<Table ({columns}){'' if ends(self.node) else ', a stream'}>"

    def __iter__(self) -> Any:
        raise TypeError("a table has no rows before its query runs: use table.execute().collect()")

    # -- columns -----------------------------------------------------------------------

    def select(self, *fields: Expression) -> Table:
        """Expressions over this table's columns, or aggregates over all rows.

        Raises:
            JobDefinitionError: a name is unknown or there twice, or types do not fit.

        Example:
            >>> from millrace.table import EnvironmentSettings, TableEnvironment
            >>> from millrace.table.expressions import col
            >>> t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
            >>> table = t_env.from_elements([(1, "a")], ["id", "name"])
            >>> table.select(col("id") + 1, col("name").upper_case.alias("big")).print_schema()
            (
              `_c0` BIGINT,
              `big` STRING
            )
        """
        return self._made(self._operations.project(fields))

    def alias(self, field: str, *fields: str) -> Table:
        """The same rows with other names for the first columns."""
        return self._made(self._operations.renamed((field, *fields)))

    def add_columns(self, *fields: Expression) -> Table:
        """All columns, followed by others, whose names must be new."""
        return self._made(self._operations.with_added_columns(fields, replace=False))

    def add_or_replace_columns(self, *fields: Expression) -> Table:
        """All columns and the given ones; a given column replaces a column of the same name, or
        is appended."""
        return self._made(self._operations.with_added_columns(fields, replace=True))

    def rename_columns(self, *fields: Expression) -> Table:
        """All columns, some under other names: ``col("old").alias("new")``."""
        return self._made(self._operations.with_renamed_columns(fields))

    def drop_columns(self, *fields: Expression) -> Table:
        """All columns except some."""
        return self._made(self._operations.without_columns(fields))

    def map(self, func: Any) -> Table:
        """The values of a function, with one column per field if they are rows.

        Args:
            func: made by `millrace.table.udf.udf`: it gets each row as a `Row`; or a call of a
                function as an expression.
        """
        call = self._called(func)
        made = self._made(self._operations.mapped(unaliased(call.node)))
        return made.alias(*call.alias_names) if call.alias_names else made

    def flat_map(self, func: Any) -> Table:
        """The rows that a table function returns for each row, without the row itself.

        Args:
            func: made by `millrace.table.udf.udtf`: it gets each row as a `Row`; or a call of
                one as an expression.
        """
        call = self._called(func, lateral=True)
        return self._made(self._operations.flat_mapped(call, call.alias_names))

    def aggregate(self, func: Any) -> AggregatedTable:
        """The result of an aggregate function over all rows, for ``select()``.

        Args:
            func: made by `millrace.table.udf.udaf`, whose `accumulate` gets each row as a `Row`; or
                a call of one as an expression. A row that it gives has a column per field.
        """
        return self.group_by().aggregate(func)

    def flat_aggregate(self, func: Any) -> FlatAggregateTable:
        """Apply a table aggregate function to all rows; ``select()`` chooses columns of the result.

        Args:
            func: made by `millrace.table.udf.udtaf`; otherwise as of `aggregate`.
        """
        return self.group_by().flat_aggregate(func)

    # -- rows --------------------------------------------------------------------------

    def filter(self, predicate: Expression) -> Table:
        """The rows for which a condition is true."""
        return self._made(self._operations.filter(predicate))

    where = filter

    def distinct(self) -> Table:
        """Each distinct row once. The rows are kept as state, for the time of
        ``table.exec.state.ttl``."""
        return self._made(self._operations.distinct())

    def order_by(self, *fields: Expression) -> Table:
        """The rows, sorted: ``col("a").asc``, ``col("b").desc``. In a stream, the first order
        must be a time attribute, unless `fetch` limits the rows."""
        return self._made(self._operations.order_by(fields))

    def offset(self, offset: int) -> Table:
        """The rows without the first ``offset`` rows."""
        return self._made(self._operations.limit(offset, None))

    def fetch(self, fetch: int) -> Table:
        """The first rows only."""
        return self._made(self._operations.limit(0, fetch))

    def limit(self, fetch: int, offset: int = 0) -> Table:
        """The first rows only, after those that `offset` skips."""
        return self._made(self._operations.limit(offset, fetch))

    # -- groups and windows ------------------------------------------------------------

    def group_by(self, *fields: Expression) -> GroupedTable:
        """Rows grouped by equal values, for ``select()`` with aggregates."""
        return GroupedTable(self._operations, self._made, fields, self._called)

    def window(self, window: GroupWindow) -> GroupWindowedTable:
        """Rows in windows of time, for ``group_by()``.

        Args:
            window: `Tumble`, `Slide` or `Session` of `millrace.table.window`, with a name.
        """
        complete = group_window(window)
        return GroupWindowedTable(self._operations, self._made, complete, self._called)

    def over_window(self, *over_windows: OverWindow) -> OverWindowedTable:
        """Windows of rows around each row, for ``select()`` with `Expression.over`.

        Args:
            over_windows: `Over` of `millrace.table.window`, with names.
        """
        complete = list(map(over_window, over_windows))
        return OverWindowedTable(self._operations, self._made, complete)

    # -- other tables ------------------------------------------------------------------

    def join(self, right: Table, join_predicate: Expression | None = None) -> Table:
        """Pairs of rows for which a condition is true, or which a later `where` selects.

        Raises:
            JobDefinitionError: both tables have a column of the same name.
        """
        return self._made(self._operations.join(right.node, "INNER", join_predicate))

    def left_outer_join(self, right: Table, join_predicate: Expression | None = None) -> Table:
        """The rows of `join`, and each left row without a partner once, with NULLs."""
        return self._made(self._operations.join(right.node, "LEFT", join_predicate))

    def right_outer_join(self, right: Table, join_predicate: Expression) -> Table:
        """The rows of `join`, and each right row without a partner once, with NULLs."""
        return self._made(self._operations.join(right.node, "RIGHT", join_predicate))

    def full_outer_join(self, right: Table, join_predicate: Expression) -> Table:
        """The rows of `join`, and each row of either side without a partner once, with NULLs."""
        return self._made(self._operations.join(right.node, "FULL", join_predicate))

    def join_lateral(
        self, table_function_call: Expression, join_predicate: Expression | None = None
    ) -> Table:
        """Each row joined with the rows that a table function returns for it."""
        return self._lateral(table_function_call, "INNER", join_predicate)

    def left_outer_join_lateral(
        self, table_function_call: Expression, join_predicate: Expression | None = None
    ) -> Table:
        """The rows of `join_lateral`, and each row without a result once, with NULLs."""
        return self._lateral(table_function_call, "LEFT", join_predicate)

    def union(self, right: Table) -> Table:
        """The distinct rows of both tables."""
        return self._combined(right, exp.Union, every=False)

    def union_all(self, right: Table) -> Table:
        """The rows of both tables."""
        return self._combined(right, exp.Union, every=True)

    def intersect(self, right: Table) -> Table:
        """The distinct rows that both tables have."""
        return self._combined(right, exp.Intersect, every=False)

    def intersect_all(self, right: Table) -> Table:
        """The rows that both tables have, as often as both have them."""
        return self._combined(right, exp.Intersect, every=True)

    def minus(self, right: Table) -> Table:
        """The distinct rows of this table that the other table does not have."""
        return self._combined(right, exp.Except, every=False)

    def minus_all(self, right: Table) -> Table:
        """The rows of this table, without one equal row for each row of the other table."""
        return self._combined(right, exp.Except, every=True)

    # -- results -----------------------------------------------------------------------

    def get_schema(self) -> TableSchema:
        """Names and types of the columns."""
        return TableSchema.of(self.node.row_type)

    def get_resolved_schema(self) -> ResolvedSchema:
        """Names and types of the columns, their time attributes, and for a table of a catalog
        their declarations."""
        return resolved_schema(self.node, self._declared)

    def print_schema(self) -> None:
        """Print the columns of `get_resolved_schema`."""
        print(self.get_resolved_schema())

    def execute(self) -> TableResult:
        """Run the query; its rows are available as they arrive."""
        return self._session.collect(self.node)

    def to_pandas(self) -> Any:
        """Run the query and return its final rows as a pandas DataFrame. Integer columns with
        NULLs stay integers (``Int64``); maps and rows become dicts."""
        return self.execute().to_pandas()

    def to_arrow(self) -> pyarrow.Table:
        """Run the query and return its final rows as an Arrow table."""
        return self.execute().to_arrow()

    def to_polars(self) -> Any:
        """Run the query and return its final rows as a Polars DataFrame.

        Raises:
            JobDefinitionError: Polars is not installed.
        """
        return self.execute().to_polars()

    def to_dataframe(self) -> Any:
        """Run the query and return its final rows as a Spark DataFrame. The rows pass through this
        process.

        Raises:
            JobDefinitionError: Spark has no type for a column.
        """
        return self.execute().to_dataframe()

    def execute_insert(
        self, table_path_or_descriptor: str | TableDescriptor, overwrite: bool = False
    ) -> TableResult:
        """Write the rows to a table, as a job of its own.

        Raises:
            JobDefinitionError: the table does not exist, or its columns have other types.
        """
        return self.insert_into(table_path_or_descriptor, overwrite).execute()

    def insert_into(
        self, table_path_or_descriptor: str | TableDescriptor, overwrite: bool = False
    ) -> TablePipeline:
        """A pipeline that writes the rows to a table, without running it.

        Raises:
            JobDefinitionError: the table does not exist, or its columns have other types.
        """
        sink = sink_to(self._session, table_path_or_descriptor, self.node, overwrite)
        return TablePipeline(self._session, sink)

    def explain(self, *extra_details: ExplainDetail) -> str:
        """The plan of the query: its tree, and its operators."""
        return explained_plan(self._session, [self.node], extra_details)

    def print_explain(self, *extra_details: ExplainDetail) -> None:
        """Print the plan of the query."""
        print(self.explain(*extra_details))

    def as_query(self) -> exp.Expr:
        """The table as a query inside an expression, for `Expression.in_`."""
        return nodes.Bound(this=self.node)

    def create_temporal_table_function(
        self, time_attribute: Expression | str, primary_key: Expression | str
    ) -> TemporalTableFunction:
        """This table as a history: a function that returns the last row of each key at a time.

        It is called in `join_lateral` with the time attribute of the other table, or, registered,
        as ``LATERAL TABLE (name(o.ts))``; the condition has an equality of the key. In event time
        a row holds from its time on, and left rows wait for the watermark; in processing time a
        left row gets the last one that has come.

        Args:
            time_attribute: the column with the time from which a row holds.
            primary_key: the column whose equal values make rows versions of one thing.

        Raises:
            JobDefinitionError: one of them is no column, or the first no time attribute.

        Example:
            >>> from millrace.table import EnvironmentSettings, TableEnvironment
            >>> from millrace.table.expressions import col
            >>> t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
            >>> for name, columns in [("o", "o_id INT, o_item STRING"), ("p", "item STRING")]:
            ...     _ = t_env.execute_sql(
            ...         f"CREATE TABLE {name} ({columns}, {name}_ts TIMESTAMP(3), "
            ...         f"WATERMARK FOR {name}_ts AS {name}_ts) WITH ('connector' = 'datagen')"
            ...     )
            >>> prices = t_env.from_path("p").create_temporal_table_function("p_ts", "item")
            >>> priced = t_env.from_path("o").join_lateral(
            ...     prices(col("o_ts")), col("o_item") == col("item"))
            >>> priced.get_schema().get_field_names()
            ['o_id', 'o_item', 'o_ts', 'item', 'p_ts']
        """
        return TemporalTableFunction(self.node, time_attribute, primary_key)

    # -- process table functions -------------------------------------------------------

    def partition_by(self, *fields: Any) -> PartitionedTable:
        """The rows in partitions, for a process table function; without columns there is one
        partition."""
        return PartitionedTable(self._session, self.node, self._made, fields)

    def process(self, function: Any, *arguments: Any) -> Table:
        """The output of a process table function for each row of this table.

        Args:
            function: a function made by `udptf`, or its registered name; its first argument is this
                table.
            arguments: the other arguments: by position, with None for omitted ones, or with names
                by ``as_argument()``.

        Raises:
            JobDefinitionError: the function does not accept these arguments.
        """
        given = [table_argument(self.node), *arguments]
        return self._made(called_rows(self._session, function, given))

    def to_changelog(self, *arguments: Expression) -> Table:
        """Each change of this table as a row that is only inserted, with a column ``op`` that says
        which change it is: ``INSERT``, ``UPDATE_BEFORE``, ``UPDATE_AFTER`` or ``DELETE``.

        Args:
            arguments: arguments of ``TO_CHANGELOG`` by name, such as
                ``descriptor("code").as_argument("op")`` and ``map_("INSERT", "I", "DELETE",
                "D").as_argument("op_mapping")``; changes that a mapping lacks are left out.

        Raises:
            JobDefinitionError: the function does not accept these arguments.
        """
        return self.process("TO_CHANGELOG", *arguments)

    def from_changelog(self, *arguments: Expression) -> Table:
        """The changelog that the rows of this insert-only table describe; the column ``op`` has
        each row's kind, and is not in the result.

        Args:
            arguments: arguments of ``FROM_CHANGELOG`` by name, such as
                ``descriptor("code").as_argument("op")`` and ``map_("c, r", "INSERT", "d",
                "DELETE").as_argument("op_mapping")``.

        Raises:
            JobDefinitionError: the function does not accept these arguments.
        """
        return self.process("FROM_CHANGELOG", *arguments)

    def as_argument(self, name: str) -> Expression:
        """The table as a named argument of `TableEnvironment.from_call`."""
        return table_argument(self.node).as_argument(name)

    # ----------------------------------------------------------------------------------

    @property
    def _operations(self) -> OperationTreeBuilder:
        return OperationTreeBuilder(self._session, self.node)

    def _made(self, node: RelNode) -> Table:
        return Table(self._session, node)

    def _combined(self, right: Table, kind: type[exp.SetOperation], every: bool) -> Table:
        return self._made(self._operations.combined(right.node, kind, every))

    def _lateral(self, call: Any, kind: str, condition: Expression | None) -> Table:
        function = self._called(call, lateral=True)
        node = self._operations.join_lateral(function, function.alias_names, kind, condition)
        return self._made(node)

    def _called(self, func: Any, lateral: bool = False) -> Expression:
        """A call of a function, with all columns as one row unless it is a call already.

        Args:
            lateral: whether the call is on the right of a lateral join with this table.
        """
        if isinstance(func, Expression):
            return func
        kind = self.node.row_type.not_null()
        columns: tuple[ResolvedExpression, ...] = tuple(map(self.node.field, range(len(kind))))
        if lateral:
            columns = tuple(from_inside(column) for column in columns)
        flat = bool(getattr(func, "takes_columns", False))
        called: Expression = func(row_argument(kind, columns, flat))
        return called


_Made = Callable[[RelNode], Table]
_Called = Callable[[Any], Expression]


class _Groups:
    """Groups of rows, by columns and optionally by windows."""

    def __init__(
        self,
        operations: OperationTreeBuilder,
        made: _Made,
        keys: Sequence[Expression],
        called: _Called,
        window: GroupWindow | None = None,
    ) -> None:
        self._operations, self._made, self._keys = operations, made, keys
        self._called, self._window = called, window

    def aggregate(self, func: Any) -> AggregatedTable:
        """The result of an aggregate function for each group, for ``select()``.

        Args:
            func: see `Table.aggregate`.
        """
        call = self._called(func)
        select = partial(self._operations.aggregated, self._keys, call, call.alias_names)
        return AggregatedTable(self._made, partial(select, window=self._window))

    def flat_aggregate(self, func: Any) -> FlatAggregateTable:
        """The rows that a table aggregate function returns for each group, for ``select()``.

        Args:
            func: see `Table.flat_aggregate`.
        """
        call = self._called(func)
        select = partial(self._operations.flat_aggregated, self._keys, call, call.alias_names)
        return FlatAggregateTable(self._made, partial(select, window=self._window))


class GroupedTable(_Groups):
    """A table grouped by columns, made by `Table.group_by`."""

    def select(self, *fields: Expression) -> Table:
        """One row per group, with its columns and aggregates of its rows."""
        return self._made(self._operations.grouped(self._keys, fields))


class GroupWindowedTable:
    """A table with windows, made by `Table.window`."""

    def __init__(
        self, operations: OperationTreeBuilder, made: _Made, window: GroupWindow, called: _Called
    ) -> None:
        self._operations, self._made = operations, made
        self._window, self._called = window, called

    def group_by(self, *fields: Expression) -> WindowGroupedTable:
        """Rows grouped by the window and optionally by columns, for ``select()`` with
        aggregates."""
        return WindowGroupedTable(self._operations, self._made, fields, self._called, self._window)


class WindowGroupedTable(_Groups):
    """A table grouped by a window and optionally by columns."""

    def select(self, *fields: Expression) -> Table:
        """One row per group and window: ``col("w").start``, ``col("w").end``, columns,
        aggregates."""
        return self._made(self._operations.grouped(self._keys, fields, self._window))


class AggregatedTable:
    """A value or a row per group, made by ``aggregate()``."""

    def __init__(self, made: _Made, select: Callable[[Sequence[Expression]], RelNode]) -> None:
        self._made, self._select = made, select

    def select(self, *fields: Expression) -> Table:
        """Columns of the groups and of the function's result, under the names of its alias, the
        fields of its row, or ``f0``."""
        return self._made(self._select(fields))


class FlatAggregateTable(AggregatedTable):
    """Any number of rows per group, made by ``flat_aggregate()``."""


class OverWindowedTable:
    """A table with windows of rows around each row, made by `Table.over_window`."""

    def __init__(
        self, operations: OperationTreeBuilder, made: _Made, windows: Sequence[OverWindow]
    ) -> None:
        self._operations, self._made, self._windows = operations, made, windows

    def select(self, *fields: Expression) -> Table:
        """One row for each input row, with columns and aggregates over the row's window:
        ``col("a").sum.over(col("w"))``."""
        return self._made(self._operations.windowed(self._windows, fields))


__getattr__ = late_names(__name__)


def row_argument(
    kind: RowType, columns: Sequence[ResolvedExpression], flat: bool = False
) -> Expression:
    """All columns as one row.

    Args:
        kind: names and types of the columns.
        flat: whether the fields of columns that are rows stand in their places, as in a DataFrame,
            which has no columns in its columns.
    """
    named = zip(kind.names, columns, strict=True)
    parts = list(_flat(named) if flat else named)
    fields = tuple(RowField(name, column.output_type) for name, column in parts)
    row = RowType(fields, nullable=False)
    made = Call(built_in.ROW, tuple(column for _, column in parts), row)
    return Expression(nodes.Bound(this=made))


def _flat(
    named: Iterator[tuple[str, ResolvedExpression]],
) -> Iterator[tuple[str, ResolvedExpression]]:
    for name, column in named:
        kind = column.output_type
        if not isinstance(kind, RowType):
            yield name, column
            continue
        for position, field in enumerate(kind.fields):
            inner = field.type.with_nullable(field.type.is_nullable or kind.is_nullable)
            yield field.name, Call(built_in.GET, (column,), inner, FieldPosition(position))
