"""`bind_select`: binds a SELECT, from FROM to ORDER BY."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlglot import exp

from millrace.common.similar_names import did_you_mean
from millrace.common.types.logical.logical_type import BooleanType, RowField, RowType
from millrace.expressions.function_definition import FunctionKind
from millrace.expressions.resolved import (
    AggregateCall,
    FieldReference,
    ResolvedExpression,
    SortKey,
    ValueLiteral,
)
from millrace.planner.binder.aggregate_calls import Clause, bind_order, bind_specification
from millrace.planner.binder.aggregation import Aggregation, UngroupedError
from millrace.planner.binder.calls import function_kind
from millrace.planner.binder.context import BindingContext, CommonTables
from millrace.planner.binder.expression import ExpressionBinder
from millrace.planner.binder.from_clause import FromBinder
from millrace.planner.binder.grouping import (
    GroupKeys,
    bind_grouping_sets,
    group_window,
    window_property,
)
from millrace.planner.binder.hints import query_hints, require_tables
from millrace.planner.binder.names import unique_names
from millrace.planner.binder.placeholders import (
    AggregatePlaceholder,
    GroupingPlaceholder,
    OrderItem,
    OverPlaceholder,
    has,
)
from millrace.planner.binder.scope import Scope
from millrace.planner.binder.state_ttl import StateTtlHint, state_ttl_hint
from millrace.planner.relational.rel_node import Aggregate, Filter, Project, RelNode, Sort, Values
from millrace.planner.relational.stream_rel_nodes import OverAggregate, OverGroup
from millrace.sql.dialect import nodes
from millrace.sql.dialect.nodes import names_of

__all__ = ["BoundSelect", "bind_select"]

Item = tuple[str | None, ResolvedExpression]


@dataclass(frozen=True, slots=True)
class BoundSelect:
    """A bound SELECT before its LIMIT.

    Attributes:
        rows: the columns of SELECT, followed by sort keys that SELECT does not return.
        names: names of the columns as written, possibly with duplicates.
    """

    rows: RelNode
    names: tuple[str, ...]

    def shown(self, rows: RelNode) -> RelNode:
        """Projection of the given rows to the columns of SELECT, without helper columns such as
        sort keys.
        """
        width = len(self.names)
        if width == len(rows.row_type):
            return rows
        fields = tuple(rows.field(index) for index in range(width))
        return Project(rows, fields, rows.row_type.names[:width])


def bind_select(
    context: BindingContext, node: exp.Select, outer: Scope | None, common: CommonTables
) -> BoundSelect:
    """The rows of a SELECT, in the order of its ORDER BY."""
    select = _Select(context, node, outer, common)
    return BoundSelect(select.bind(), select.written)


_TRUE = ValueLiteral(True, BooleanType(nullable=False))
_NO_TABLE = Values(((_TRUE,),), RowType((RowField("$one", _TRUE.type),), nullable=False))
"""The row that a SELECT without FROM reads. It has a column: rows without any have no number."""


class _Select:
    def __init__(
        self,
        context: BindingContext,
        node: exp.Select,
        outer: Scope | None,
        common: CommonTables,
    ) -> None:
        self.context, self.node, self.common = context, node, common
        self.rows: RelNode = _NO_TABLE
        self.scope = Scope(parent=outer)
        self.outer = outer
        self.window_call: exp.Expr | None = None
        self.written: tuple[str, ...] = ()
        self._state_ttl = StateTtlHint()
        self.windows = _named_windows(context, node.args.get("windows") or ())

    def bind(self) -> RelNode:
        self._from()
        keys = self._group_keys()
        _check_windows(self._expressions("WINDOW", over=False).clause, self.windows)
        items = [item for node in self.node.expressions for item in self._items(node)]
        having = self.node.args.get("having")
        condition = None
        if having is not None:
            condition = self._expressions("HAVING", over=False).condition(having.this)
        names = unique_names(name for name, _ in items)
        self.written = tuple(
            made if name is None else name for made, (name, _) in zip(names, items, strict=True)
        )
        outputs = [expression for _, expression in items]
        order = self._order(names, outputs)
        qualify = self.node.args.get("qualify")
        qualified = [*outputs, *(key.expression for key in order)]
        if qualify is not None:
            binder = self._expressions("QUALIFY", outputs=QualifyNames(self.context, items))
            qualified.append(binder.condition(qualify.this))
        aggregated = any(
            has(expression, AggregatePlaceholder) or has(expression, GroupingPlaceholder)
            for expression in (*qualified, *([] if condition is None else [condition]))
        )
        if keys is not None or aggregated or having is not None:
            qualified, condition = self._aggregate(keys or GroupKeys(), qualified, condition)
        if condition is not None:
            self.rows = Filter(self.rows, condition)
        self.rows, expressions = over_aggregate(self.rows, qualified)
        if qualify is not None:
            self.rows = Filter(self.rows, expressions[-1])
            expressions = expressions[:-1]
        return self._project(names, expressions, order)

    # the parts, in the order in which they are evaluated

    def _from(self) -> None:
        source = self.node.args.get("from_")
        if source is not None:
            ttl = self._state_ttl = state_ttl_hint(self.context, self.node)
            hints = query_hints(self.context, self.node)
            binder = FromBinder(self.context, self.outer, self.common, hints, ttl)
            self.rows, self.scope = binder.bind(source.this)
            require_tables(self.context, self.node, self.scope)
        where = self.node.args.get("where")
        if where is not None:
            self.rows = Filter(self.rows, self._plain("WHERE").condition(where.this))

    def _plain(self, clause: str) -> ExpressionBinder:
        return ExpressionBinder(self.context, self.scope, self.common, clause)

    def _expressions(
        self,
        clause: str,
        over: bool = True,
        outputs: QualifyNames | None = None,
    ) -> ExpressionBinder:
        """An expression binder for a clause.

        Args:
            outputs: the columns of SELECT, whose names the clause may use.
        """
        call, rows = self.window_call, self.rows

        def special(node: exp.Expr) -> ResolvedExpression | None:
            if outputs is not None and (column := outputs.find(node)) is not None:
                return column
            if call is None:
                return None
            plain = ExpressionBinder(self.context, self.scope, self.common, clause)
            return window_property(self.context, node, call, rows, plain.bind)

        return ExpressionBinder(
            self.context,
            self.scope,
            self.common,
            clause,
            aggregates=True,
            windows=self.windows if over else None,
            special=special,
        )

    def _group_keys(self) -> GroupKeys | None:
        group = self.node.args.get("group")
        if group is None:
            return None
        plain = self._plain("GROUP BY")
        self.rows, call = group_window(self.context, group, self.rows, plain.bind)
        self.window_call = call
        if call is None:
            return bind_grouping_sets(group, plain.bind)
        width = len(self.rows.row_type)

        def bind(node: exp.Expr) -> ResolvedExpression:
            return self.rows.field(width - 3) if node is call else plain.bind(node)

        keys = bind_grouping_sets(group, bind)
        ends = [keys.position(self.rows.field(width - from_end)) for from_end in (2, 1)]
        keys.sets = [(*grouping, *ends) for grouping in keys.sets]
        return keys

    def _items(self, node: exp.Expr) -> list[Item]:
        """The columns of a SELECT item; a star has several."""
        if isinstance(node, exp.Star):
            return list(self.scope.star())
        if isinstance(node, exp.Column | exp.Dot):
            names = names_of(node)
            if names is not None and names[-1] == "*":
                return self._qualified_star(node, names[:-1])
        binder = self._expressions("SELECT")
        if isinstance(node, exp.Alias):
            return [(node.alias, binder.bind(node.this))]
        bound = binder.bind(node)
        return [(_name(node), bound)]

    def _qualified_star(self, node: exp.Expr, names: tuple[str, ...]) -> list[Item]:
        table = self.scope.table(names)
        if table is not None:
            return [(column.name, column) for column in table.columns]
        try:
            matched = self.scope.find(names)
        except Exception:  # an ambiguous name is no row either
            matched = None
        if matched is not None and not matched.fields:
            row = matched.expression
            kind = row.output_type
            if isinstance(kind, RowType):
                binder = self._plain("SELECT")
                return [(name, binder.field(node, row, name)) for name in kind.names]
        known = [table.path[-1] for table in self.scope.tables if table.path]
        hint = did_you_mean(names[-1], known)
        raise self.context.refusal(node, f"there is no table {'.'.join(names)!r} in FROM{hint}")

    def _order(
        self, names: tuple[str, ...], outputs: Sequence[ResolvedExpression]
    ) -> tuple[OrderItem, ...]:
        """The bound ORDER BY: by an output's name or position, or by any expression over FROM."""
        order = self.node.args.get("order")
        if order is None:
            return ()
        binder = self._expressions("ORDER BY")

        def bind(node: exp.Expr) -> ResolvedExpression:
            """An output of SELECT, or else an expression over the columns of FROM."""
            if isinstance(node, exp.Literal) and not node.is_string:
                position = int(node.this) if node.this.isdigit() else 0
                if not 1 <= position <= len(outputs):
                    reason = f"ORDER BY {node.this}: the number of columns is {len(outputs)}"
                    raise binder.context.refusal(node, reason)
                return outputs[position - 1]
            written = names_of(node)
            if written is not None and len(written) == 1 and written[0] in names:
                return outputs[names.index(written[0])]
            return binder.bind(node)

        return bind_order(self.context, order.expressions, bind)

    def _aggregate(
        self,
        keys: GroupKeys,
        expressions: Sequence[ResolvedExpression],
        condition: ResolvedExpression | None,
    ) -> tuple[list[ResolvedExpression], ResolvedExpression | None]:
        aggregation = Aggregation(keys)
        try:
            changed = [aggregation.over(expression) for expression in expressions]
            having = None if condition is None else aggregation.over(condition)
            self.rows = aggregation.node(self.rows, self._state_ttl.of(self.scope))
            if self.node.args.get("group") is not None:
                self.rows = self.context.placed(self.rows, self.node.args["group"])
        except UngroupedError as error:
            name = str(error)
            place = next(
                (
                    column
                    for part in (*self.node.expressions, self.node.args.get("having"))
                    if part is not None
                    for column in part.find_all(exp.Column)
                    if column.name == name
                ),
                None,
            )
            raise self.context.refusal(
                place or self.node,
                f"expression {name!r} is not being grouped: add it to GROUP BY, or aggregate it",
            ) from None
        return changed, having

    def _project(
        self,
        names: tuple[str, ...],
        expressions: Sequence[ResolvedExpression],
        order: tuple[OrderItem, ...],
    ) -> RelNode:
        outputs, sorts = list(expressions[: len(names)]), expressions[len(names) :]
        keys = []
        shown = list(outputs)
        for item, expression in zip(order, sorts, strict=True):
            if expression not in shown:
                shown.append(expression)
            index = shown.index(expression)
            keys.append(SortKey(index, item.ascending, item.nulls_first, item.place))
        distinct = bool(self.node.args.get("distinct"))
        if distinct and len(shown) > len(outputs):
            raise self.context.refusal(
                self.node.args["order"], "ORDER BY of SELECT DISTINCT sorts by its columns only"
            )
        extra = (f"$sort{index}" for index in range(len(shown) - len(outputs)))
        rows = _projected(self.rows, tuple(shown), unique_names((*names, *extra)))
        if rows is not self.rows:
            rows = self.context.placed(rows, self.node)
        if distinct:
            unique = Aggregate(rows, tuple(range(len(outputs))), ())
            rows = self.context.placed(unique, self.node.args["distinct"])
        if not keys:
            return rows
        return self.context.placed(Sort(rows, tuple(keys)), self.node.args["order"])


def _projected(
    rows: RelNode, expressions: tuple[ResolvedExpression, ...], names: tuple[str, ...]
) -> RelNode:
    if rows is _NO_TABLE:
        pairs = zip(names, expressions, strict=True)
        kind = RowType(
            tuple(RowField(name, expression.output_type) for name, expression in pairs),
            nullable=False,
        )
        return Values((expressions,), kind)
    fields = len(rows.row_type)
    same = all(
        isinstance(expression, FieldReference) and expression.index == index
        for index, expression in enumerate(expressions)
    )
    if same and fields == len(expressions) and names == rows.row_type.names:
        return rows
    return Project(rows, expressions, names)


def _name(node: exp.Expr) -> str | None:
    """Name of a column without an alias: the name of the column or field it reads."""
    while isinstance(node, exp.Paren):
        node = node.this
    if isinstance(node, exp.Column):
        return str(node.name)
    if isinstance(node, exp.Dot):
        return str(node.expression.name)
    return None


def _named_windows(
    context: BindingContext, clauses: Sequence[exp.Expr]
) -> dict[str, nodes.WindowSpecification]:
    """Windows of a WINDOW clause by name.

    Raises:
        SqlValidationError: two have the same name, or are the same.
    """
    by_name: dict[str, nodes.WindowSpecification] = {}
    for clause in clauses:
        name, window = clause.this.name, clause.expression
        if name.upper() in map(str.upper, by_name):
            raise context.refusal(
                clause.this, f"Duplicate window names not allowed: there is a window {name!r} above"
            )
        if window in by_name.values():
            raise context.refusal(
                window, "Duplicate window specification not allowed in the same window clause"
            )
        by_name[name] = window
    return by_name


def _check_windows(clause: Clause, windows: dict[str, nodes.WindowSpecification]) -> None:
    """Bind each window of a WINDOW clause; a window may extend earlier ones.

    Raises:
        SqlValidationError: a window has a column, function or window that does not exist.
    """
    before: dict[str, nodes.WindowSpecification] = {}
    for name, window in windows.items():
        bind_specification(clause, window, before)
        before[name] = window


_Position = Callable[[ResolvedExpression], int]
Frame = tuple[tuple[ResolvedExpression, ...], tuple[object, ...], bool, int | None, int | None]


def over_aggregate(
    rows: RelNode, expressions: Sequence[ResolvedExpression]
) -> tuple[RelNode, tuple[ResolvedExpression, ...]]:
    """The rows with a column per windowed aggregate, and the expressions that read those
    columns."""
    frames: dict[Frame, list[OverPlaceholder]] = {}
    for expression in expressions:
        for placeholder in _placeholders(expression):
            calls = frames.setdefault(_frame(placeholder), [])
            if placeholder not in calls:
                calls.append(placeholder)
    if not frames:
        return rows, tuple(expressions)
    fields: list[ResolvedExpression] = [rows.field(i) for i in range(len(rows.row_type))]
    names: list[str | None] = list(rows.row_type.names)

    def position(expression: ResolvedExpression) -> int:
        if isinstance(expression, FieldReference):
            return expression.index
        if expression not in fields:
            fields.append(expression)
            names.append(f"$f{len(names)}")
        return fields.index(expression)

    groups = [
        OverGroup(
            tuple(position(key) for key in calls[0].partition),
            tuple(
                SortKey(position(item.expression), item.ascending, item.nulls_first, item.place)
                for item in calls[0].order
            ),
            calls[0].rows,
            calls[0].preceding,
            calls[0].following,
            tuple(_call(call, position, f"w{i}$o{k}") for k, call in enumerate(calls)),
        )
        for i, calls in enumerate(frames.values())
    ]
    base = rows
    if len(fields) > len(rows.row_type):
        base = Project(rows, tuple(fields), unique_names(names))
    over = OverAggregate(base, tuple(groups), place=groups[0].calls[0].place)
    ordered = [call for calls in frames.values() for call in calls]
    first = len(base.row_type)

    def replaced(expression: ResolvedExpression) -> ResolvedExpression:
        if isinstance(expression, OverPlaceholder):
            return over.field(first + ordered.index(expression))
        children = expression.children()
        return expression.with_children(tuple(map(replaced, children))) if children else expression

    return over, tuple(map(replaced, expressions))


def _placeholders(expression: ResolvedExpression) -> list[OverPlaceholder]:
    if isinstance(expression, OverPlaceholder):
        return [expression]
    return [placeholder for child in expression.children() for placeholder in _placeholders(child)]


def _frame(placeholder: OverPlaceholder) -> Frame:
    return (
        placeholder.partition,
        placeholder.order,
        placeholder.rows,
        placeholder.preceding,
        placeholder.following,
    )


def _call(placeholder: OverPlaceholder, position: _Position, name: str) -> AggregateCall:
    return AggregateCall(
        placeholder.function,
        tuple(position(argument) for argument in placeholder.arguments),
        placeholder.type,
        placeholder.distinct,
        None if placeholder.filter is None else position(placeholder.filter),
        options=placeholder.options,
        name=name,
        place=placeholder.place,
    )


class QualifyNames:
    """Finds the column of SELECT that a name in QUALIFY refers to.

    Inside an aggregate, and inside OVER where the column is made by OVER itself, a name is that of
    a column of FROM.

    Args:
        items: names and expressions of SELECT.
    """

    def __init__(
        self, context: BindingContext, items: Sequence[tuple[str | None, ResolvedExpression]]
    ) -> None:
        self._context = context
        self._count = Counter(name for name, _ in items)
        self._columns = dict(items)

    def find(self, node: exp.Expr) -> ResolvedExpression | None:
        """The column that a node names; None if the node does not name a column of SELECT.

        Raises:
            SqlValidationError: several columns have the name.
        """
        names = names_of(node)
        if names is None or len(names) != 1 or names[0] not in self._columns:
            return None
        column = self._columns[names[0]]
        for call in _calls_around(node):
            if call.args.get("over") is not None:
                if has(column, OverPlaceholder):
                    return None
            elif function_kind(self._context, call) is FunctionKind.AGGREGATE:
                return None
        if self._count[names[0]] > 1:
            raise self._context.refusal(
                node, f"the column {names[0]!r} is ambiguous: SELECT has several of that name"
            )
        return column


def _calls_around(node: exp.Expr) -> list[nodes.FunctionCall]:
    calls: list[nodes.FunctionCall] = []
    parent = node.parent
    while parent is not None and not isinstance(parent, exp.Qualify):
        if isinstance(parent, nodes.FunctionCall):
            calls.append(parent)
        parent = parent.parent
    return calls
