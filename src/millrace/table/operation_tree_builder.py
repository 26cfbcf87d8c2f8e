"""`OperationTreeBuilder`: operations of the Table API as typed relational trees.

Each operation is the query of SQL that does the same, as a syntax tree over a table that is bound
already. Flink: ``OperationTreeBuilder``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any

from sqlglot import exp

from millrace.common.errors import JobDefinitionError
from millrace.common.types.logical.logical_type import ArrayType, LogicalType, RowType
from millrace.expressions import registry
from millrace.planner.inference.time_attributes import time_attributes
from millrace.planner.relational.rel_node import Aggregate, Join, Project, RelNode, Sort
from millrace.planner.relational.stream_rel_nodes import CountWindowAggregate, TimeAttribute
from millrace.sql.dialect import nodes
from millrace.sql.dialect.nodes import names_of
from millrace.table.calls.call_builder import node_of
from millrace.table.calls.collections import Flattened
from millrace.table.calls.temporal import WindowProperty
from millrace.table.column_selection import with_selections_expanded
from millrace.table.expression import Expression
from millrace.table.syntax import call_node, column_node, identifier
from millrace.table.table_session import TableSession
from millrace.table.window import GroupWindow, OverWindow

__all__ = ["OperationTreeBuilder"]

Fields = Sequence[Any]


class OperationTreeBuilder:
    """Builds the tree of an operation on a table.

    Args:
        session: the session whose catalogs resolve names of functions.
        rows: the table.
    """

    def __init__(self, session: TableSession, rows: RelNode) -> None:
        self._session = session
        self._rows = rows

    def project(self, fields: Fields) -> RelNode:
        """SELECT, also with aggregates over all rows."""
        return self._select(self._items(fields))

    def windowed(self, windows: Sequence[OverWindow], fields: Fields) -> RelNode:
        """SELECT with named windows of OVER."""
        return self._select(self._items(fields), windows=[window.node() for window in windows])

    def grouped(self, keys: Fields, fields: Fields, window: GroupWindow | None = None) -> RelNode:
        """SELECT with GROUP BY, by columns and optionally a window."""
        if window is not None and window.rows is not None:
            return self._counted(keys, fields, window)
        groups = self._expanded(keys)
        aliases: dict[str, exp.Expr] = {}
        for position, node in enumerate(groups):
            if isinstance(node, exp.Alias):
                aliases[node.alias] = groups[position] = node.this
            elif window is not None and names_of(node) == (window.name,):
                groups[position] = window.call
        if window is not None and window.call not in groups:
            raise JobDefinitionError(
                f"group_by() needs the window among its columns: col({window.name!r})"
            )

        def meant(node: exp.Expr) -> exp.Expr | None:
            names = names_of(node)
            if names is not None and len(names) == 1 and names[0] in aliases:
                return aliases[names[0]]
            return _property(node, window)

        items = [_replaced(item, meant) for item in self._items(fields)]
        return self._select(items, group=exp.Group(expressions=groups))

    def _counted(self, keys: Fields, fields: Fields, window: GroupWindow) -> RelNode:
        """SELECT with GROUP BY columns and a window with a number of rows."""
        assert window.rows is not None
        time = names_of(window.call.arguments[0]) or ("",)
        columns = self._rows.row_type.names
        index = columns.index(time[-1]) if time[-1] in columns else -1
        if time_attributes(self._rows).get(index) is not TimeAttribute.PROCTIME:
            raise JobDefinitionError(
                "Event-time grouping windows on row intervals are currently not supported: the "
                f"column of on() must be PROCTIME(), and {time[-1]!r} is not"
            )
        expanded = self._expanded(keys)
        others = [key for key in expanded if names_of(key) != (window.name,)]
        if len(others) == len(expanded):
            raise JobDefinitionError(
                f"group_by() needs the window among its columns: col({window.name!r})"
            )
        for field in self._items(fields):
            if any(True for _ in field.find_all(WindowProperty)):
                raise JobDefinitionError(
                    "Window start and end properties are not available for Count windows."
                )
        kept = [Expression(key) for key in others]
        return _with_count_windows(self.grouped(kept, fields), *window.rows)

    def aggregated(
        self, keys: Fields, call: Any, names: Sequence[str], fields: Fields, window: Any = None
    ) -> RelNode:
        """SELECT of the group's columns and of an aggregate function's result per group.

        Args:
            call: call of the function; a row as result has one column per field.
            names: names of the result's columns. If empty, the names of the fields, with a number
                where the group has a column of the same name.
        """
        node = _unaliased(call)
        made = self._value_type(node)
        parts: dict[str, exp.Expr] = {}
        if isinstance(made, RowType):
            for place, name in enumerate(names or self._beside(keys, made.names)):
                parts[name] = nodes.FieldAt(this=node, position=place)
        else:
            parts[next(iter(names), "f0")] = node
        chosen = self._expanded_over(fields, keys, window, list(parts))

        def meant(expression: exp.Expr) -> exp.Expr | None:
            path = names_of(expression)
            part = parts.get(path[0]) if path is not None and len(path) == 1 else None
            return None if part is None else part.copy()

        return self.grouped(keys, [_replaced(item, meant) for item in chosen], window)

    def flat_aggregated(
        self, keys: Fields, call: Any, names: Sequence[str], fields: Fields, window: Any = None
    ) -> RelNode:
        """SELECT of the group's columns and of the rows that a table aggregate function returns per
        group.

        Args:
            call, names: see `aggregated`.
        """
        node = _unaliased(call)
        rows = self._value_type(node)
        if not isinstance(rows, ArrayType) or not isinstance(rows.element_type, RowType):
            raise JobDefinitionError(
                f"flat_aggregate() takes a function made by udtaf(), not {call}"
            )
        made = list(names or self._beside(keys, rows.element_type.names))
        chosen = self._expanded_over(fields, keys, window, made)
        properties: list[exp.Expr] = []
        for item in chosen:
            for window_property in item.find_all(WindowProperty):
                if window_property not in properties:
                    properties.append(window_property)
        chosen = [
            _aliased(item, f"EXPR${properties.index(item)}") if item in properties else item
            for item in chosen
        ]
        groups = [name for name in self._group_names(keys) if window is None or name != window.name]
        hidden = [f"$property{number}" for number in range(len(properties))]
        pairs = zip(properties, hidden, strict=True)
        inner = [_aliased(expression.copy(), name) for expression, name in pairs]
        kept = [*map(column_node, groups), *inner, _aliased(node, "$rows")]
        below = OperationTreeBuilder(self._session, self.grouped(keys, kept, window))
        unnested = below.join_lateral(
            call_node("UNNEST", [column_node("$rows")]), made, "INNER", None
        )

        def meant(expression: exp.Expr) -> exp.Expr | None:
            return (
                column_node(hidden[properties.index(expression)])
                if expression in properties
                else None
            )

        outer = OperationTreeBuilder(self._session, unnested)
        return outer.project([_replaced(item, meant) for item in chosen])

    def _value_type(self, call: exp.Expr) -> LogicalType:
        return self._select([_aliased(call.copy(), "_c0")]).row_type.fields[0].type

    def _group_names(self, keys: Fields) -> list[str]:
        return [name for name in map(_written_name, self._expanded(keys)) if name is not None]

    def _beside(self, keys: Fields, names: Sequence[str]) -> list[str]:
        """Names of a function's columns that differ from the group's: ``a`` becomes ``a0``."""
        taken = {*self._group_names(keys)}
        unique_names: list[str] = []
        for name in names:
            number = count()
            unique = name
            while unique in taken:
                unique = f"{name}{next(number)}"
            taken.add(unique)
            unique_names.append(unique)
        return unique_names

    def _expanded_over(
        self, fields: Fields, keys: Fields, window: GroupWindow | None, made: Sequence[str]
    ) -> list[exp.Expr]:
        """The selection over groups, where ``*`` means the group's and the function's columns."""
        groups = [name for name in self._group_names(keys) if window is None or name != window.name]
        columns = [*groups, *made]
        expanded: list[exp.Expr] = []
        for field in fields:
            for expression in with_selections_expanded(_copy(field), columns):
                expanded += (
                    map(column_node, columns) if isinstance(expression, exp.Star) else [expression]
                )
        return expanded

    def filter(self, predicate: Any) -> RelNode:
        """WHERE."""
        return self._select([exp.Star()], where=exp.Where(this=_copy(predicate)))

    def distinct(self) -> RelNode:
        """SELECT DISTINCT."""
        return self._select([exp.Star()], distinct=exp.Distinct())

    def order_by(self, fields: Fields) -> RelNode:
        """ORDER BY."""
        keys = [_copy(field) for field in fields]
        ordered = [key if isinstance(key, exp.Ordered) else exp.Ordered(this=key) for key in keys]
        for key in ordered:
            # NULL is the greatest value for Flink's Table API, and the least one for its SQL
            key.set("nulls_first", bool(key.args.get("desc")))
        return self._select([exp.Star()], order=exp.Order(expressions=ordered))

    def limit(self, offset: int, fetch: int | None) -> RelNode:
        """OFFSET and FETCH, in the order of the rows."""
        for name, value in (("offset", offset), ("fetch", fetch)):
            if value is not None and (not isinstance(value, int) or value < 0):
                raise JobDefinitionError(f"{name}() takes a whole number from 0, not {value!r}")
        rows = self._rows
        if isinstance(rows, Sort) and rows.fetch is None and not (rows.offset and offset):
            return Sort(rows.input, rows.keys, offset or rows.offset, fetch)
        return Sort(rows, (), offset, fetch)

    def join(self, right: RelNode, kind: str, condition: Any) -> RelNode:
        """A join with another table, whose column names must differ."""
        names = self._rows.row_type.names
        twice = [name for name in right.row_type.names if name in names]
        if twice:
            raise JobDefinitionError(
                f"both tables of the join have columns {', '.join(map(repr, twice))}: "
                "rename the columns of one table with rename_columns() or alias()"
            )
        return self._joined(_relation(right), kind, condition)

    def join_lateral(self, call: Any, names: Sequence[str], kind: str, condition: Any) -> RelNode:
        """A join with the rows that a table function returns for each row.

        Raises:
            JobDefinitionError: a column of the function is called like one of the table.
        """
        joined = self._lateral(call, names, kind, condition)
        columns = joined.left.row_type.names
        twice = [name for name in joined.right.row_type.names if name in columns]
        if twice:
            raise JobDefinitionError(
                "the function and the table both have columns "
                f"{', '.join(map(repr, twice))}: rename the columns of the function with "
                "alias()"
            )
        return joined

    def _lateral(self, call: Any, names: Sequence[str], kind: str, condition: Any) -> Join:
        node = _copy(call)
        node = node.this if isinstance(node, exp.Alias) else node
        if not isinstance(node, nodes.FunctionCall):
            raise JobDefinitionError(f"join_lateral() takes a call of a table function, not {call}")
        columns = [identifier(name) for name in names]
        alias = exp.TableAlias(this=identifier("$function"), columns=columns)
        [expanded] = self._expanded([node])
        function = nodes.TableFunctionCall(this=expanded, wrapped=True, lateral=True, alias=alias)
        joined = self._joined(function, kind, condition)
        assert isinstance(joined, Join)
        return joined

    def flat_mapped(self, call: Any, names: Sequence[str]) -> RelNode:
        """The rows that a table function returns for each row, without the row itself."""
        joined = self._lateral(call, names, "INNER", None)
        first = len(joined.left.row_type)
        made = range(first, len(joined.row_type))
        return Project(joined, tuple(map(joined.field, made)), joined.right.row_type.names)

    def combined(self, right: RelNode, kind: type[exp.SetOperation], every: bool) -> RelNode:
        """UNION, INTERSECT or EXCEPT with another table."""
        left, other = nodes.Bound(this=self._rows), nodes.Bound(this=right)
        return self._bound(kind(this=left, expression=other, distinct=not every))

    def renamed(self, names: Sequence[str]) -> RelNode:
        """The same rows, with the first columns under other names."""
        columns = self._rows.row_type.names
        if len(names) > len(columns):
            raise JobDefinitionError(
                f"alias() has {len(names)} names, but there are {len(columns)} columns"
            )
        return self._with_names(dict(zip(columns, names, strict=False)))

    def with_renamed_columns(self, fields: Fields) -> RelNode:
        """The same rows, with some columns under other names: ``col("a").alias("b")``."""
        changed: dict[str, str] = {}
        for field in fields:
            node = _copy(field)
            names = names_of(node.this) if isinstance(node, exp.Alias) else None
            if names is None or len(names) != 1:
                raise JobDefinitionError(
                    f"rename_columns() takes col('old').alias('new'), not {field}"
                )
            changed[self._known(names[0])] = node.alias
        return self._with_names(changed)

    def with_added_columns(self, fields: Fields, replace: bool) -> RelNode:
        """All columns and the given ones; with ``replace``, a given column replaces the column
        of the same name."""
        added = {_name(item): item for item in self._items(fields)}
        columns = self._rows.row_type.names
        twice = [name for name in added if name in columns]
        if twice and not replace:
            raise JobDefinitionError(
                f"there is a column {twice[0]!r} already: add_or_replace_columns() replaces it"
            )
        kept = [added.pop(name, column_node(name)) for name in columns]
        return self._select([*kept, *added.values()])

    def without_columns(self, fields: Fields) -> RelNode:
        """All columns except some."""
        dropped = {self._known(_name(node)) for node in self._expanded(fields)}
        columns = self._rows.row_type.names
        kept = [column_node(name) for name in columns if name not in dropped]
        if not kept:
            raise JobDefinitionError("drop_columns() would leave no column")
        return self._select(kept)

    def mapped(self, call: exp.Expr) -> RelNode:
        """The values of a call as columns. If the values are rows, each field becomes a column."""
        made = OperationTreeBuilder(self._session, self._select([_aliased(call, "_c0")]))
        return made.project([Flattened(this=column_node("_c0"))])

    # -- parts -------------------------------------------------------------------------

    def _expanded(self, fields: Fields) -> list[exp.Expr]:
        """The trees of expressions, copied for one query, with selections replaced by columns."""
        columns = self._rows.row_type.names
        return [
            expression
            for field in fields
            for expression in with_selections_expanded(_copy(field), columns)
        ]

    def _known(self, name: str) -> str:
        if name not in self._rows.row_type.names:
            OperationTreeBuilder(self._session, self._rows).project([column_node(name)])
        return name

    def _with_names(self, changed: Mapping[str, str]) -> RelNode:
        return self._select(
            [
                _aliased(column_node(name), changed[name]) if name in changed else column_node(name)
                for name in self._rows.row_type.names
            ]
        )

    def _joined(self, right: exp.Expr, kind: str, condition: Any) -> RelNode:
        parts = {} if condition is None else {"on": _copy(condition)}
        both = nodes.JoinedTables(this=_relation(self._rows), expression=right, kind=kind, **parts)
        return self._bound(exp.Select(expressions=[exp.Star()], from_=exp.From(this=both)))

    def _select(self, items: Sequence[exp.Expr], **clauses: Any) -> RelNode:
        source = exp.From(this=_relation(self._rows))
        return self._bound(exp.Select(expressions=list(items), from_=source, **clauses))

    def _bound(self, query: exp.Expr) -> RelNode:
        return self._session.bind_query(query, "")

    def _items(self, fields: Fields) -> list[exp.Expr]:
        """Columns of a SELECT with unique names."""
        columns = self._rows.row_type.names
        given = self._expanded(fields)
        items = list(
            self._named([part for expression in given for part in self._flattened(expression)])
        )
        names: set[str] = set()
        for item in items:
            for name in columns if isinstance(item, exp.Star) else (_name(item),):
                if name in names:
                    raise JobDefinitionError(
                        f"two columns would have the name {name!r}: rename one of them with alias()"
                    )
                names.add(name)
        return items

    def _named(self, given: Sequence[exp.Expr]) -> Iterator[exp.Expr]:
        """Expressions with Flink's names: EXPR$0 for the first aggregate, _c2 for the third
        expression."""
        aggregates: list[exp.Expr] = []
        for expression in given:
            for call in self._aggregates(expression):
                if call not in aggregates:
                    aggregates.append(call)
        for position, node in enumerate(given):
            if isinstance(node, exp.Star | exp.Alias) or _written_name(node) is not None:
                yield node
            elif isinstance(node, exp.Cast) and (name := _written_name(node.this)) is not None:
                yield _aliased(node, f"{name}-{node.to.this}")
            elif node in aggregates:
                yield _aliased(node, f"EXPR${aggregates.index(node)}")
            else:
                yield _aliased(node, f"_c{position}")

    def _aggregates(self, node: exp.Expr) -> Iterator[exp.Expr]:
        for part in node.walk():
            if isinstance(part, WindowProperty) or self._is_aggregate(part):
                yield part

    def _is_aggregate(self, node: exp.Expr) -> bool:
        if not isinstance(node, nodes.FunctionCall) or node.args.get("over") is not None:
            return False
        definition = node.args.get("definition") or self._session.reader.resolve_function(node.path)
        if definition is None:
            definition = registry.find(node.name)
        return definition is not None and str(definition.kind.value) == "AGGREGATE"

    def _flattened(self, node: exp.Expr) -> list[exp.Expr]:
        """One column per field of a row, ``r$a``, for `Flattened`."""
        if not isinstance(node, Flattened):
            return [node]
        inner = node.this
        kind = self._select([_aliased(inner, "_c0")]).row_type.fields[0].type
        if not isinstance(kind, RowType):
            return [inner]
        before = _written_name(inner)
        prefix = "" if before is None or before == "_c0" else f"{before}$"
        return [
            _aliased(exp.Dot(this=inner, expression=identifier(name)), f"{prefix}{name}")
            for name in kind.names
        ]


def _unaliased(call: Any) -> exp.Expr:
    node = _copy(call)
    return node.this if isinstance(node, exp.Alias) else node


def _relation(rows: RelNode) -> exp.Expr:
    return exp.Subquery(this=nodes.Bound(this=rows))


def _copy(field: Any) -> exp.Expr:
    """The tree of an expression, or of a Python value, copied for one query.

    Raises:
        JobDefinitionError: it is a text, which a column's name would be meant by.
    """
    if isinstance(field, str):
        raise JobDefinitionError(
            f"an expression is expected, not the text {field!r}: col({field!r}) is a "
            f"column, lit({field!r}) is a constant, call_sql({field!r}) is an expression in "
            "SQL"
        )
    node = field if isinstance(field, exp.Expression) else node_of(field)
    return node.copy()


def _aliased(node: exp.Expr, name: str) -> exp.Expr:
    return exp.Alias(this=node, alias=identifier(name))


def _written_name(node: exp.Expr) -> str | None:
    if isinstance(node, exp.Alias):
        return str(node.alias)
    names = names_of(node)
    return None if names is None else names[-1]


def _name(node: exp.Expr) -> str:
    name = _written_name(node)
    if name is None:
        raise JobDefinitionError(f"only columns are allowed, not {node}")
    return name


def _with_count_windows(rows: RelNode, size: int, slide: int) -> RelNode:
    """The tree, with the topmost aggregate computed over count windows."""
    if isinstance(rows, Aggregate):
        return CountWindowAggregate(rows.input, rows.groups, rows.calls, size, slide)
    (below,) = rows.inputs
    return rows.with_inputs((_with_count_windows(below, size, slide),))


def _property(node: exp.Expr, window: GroupWindow | None) -> exp.Expr | None:
    """``TUMBLE_START(...)`` for ``col("w").start``."""
    if not isinstance(node, WindowProperty):
        return None
    names = names_of(node.this)
    if window is None or names != (window.name,):
        shown = ".".join(names or ("?",))
        raise JobDefinitionError(f"there is no window called {shown!r}")
    return call_node(f"{window.call.name}_{node.args['kind']}", window.call.arguments)


def _replaced(node: exp.Expr, meant: Callable[[exp.Expr], exp.Expr | None]) -> exp.Expr:
    """A column in which some nodes are replaced; it keeps its name."""
    name = _written_name(node)
    replacement = meant(node)
    if replacement is not None:
        return replacement if name is None else _aliased(replacement, name)

    def change(part: exp.Expr) -> exp.Expr:
        other = meant(part)
        return part if other is None else other.copy()

    return node.transform(change, copy=False)
