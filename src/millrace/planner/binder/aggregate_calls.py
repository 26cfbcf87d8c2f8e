"""Calls of aggregate functions, of OVER and of GROUPING, bound to placeholders that a SELECT
later replaces."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from sqlglot import exp

from millrace.common.errors import JobDefinitionError
from millrace.common.types.logical.logical_type import (
    BigIntType,
    BooleanType,
    DateType,
    LocalZonedTimestampType,
    LogicalType,
    NullType,
    TimestampType,
    TimeType,
)
from millrace.expressions import built_in
from millrace.expressions.call_options import CallOptions, NullTreatment
from millrace.expressions.function_definition import FunctionDefinition, FunctionKind
from millrace.expressions.registry import resolve_aggregate, with_nested_json
from millrace.expressions.resolved import ResolvedExpression, ValueLiteral
from millrace.planner.binder.calls import called_function, function_kind, split_arguments
from millrace.planner.binder.casts import cast_to
from millrace.planner.binder.context import BindingContext
from millrace.planner.binder.placeholders import (
    AggregatePlaceholder,
    GroupingPlaceholder,
    OrderItem,
    OverPlaceholder,
)
from millrace.sql.dialect import nodes

__all__ = [
    "Clause",
    "bind_aggregate",
    "bind_grouping",
    "bind_order",
    "bind_over",
    "bind_specification",
]

NUMBERING: Final = frozenset(
    {
        *(built_in.ROW_NUMBER, built_in.RANK, built_in.DENSE_RANK),
        *(built_in.PERCENT_RANK, built_in.CUME_DIST, built_in.NTILE),
    }
)
WHOLE_PARTITION: Final = NUMBERING | {built_in.LAG, built_in.LEAD}
"""Functions of OVER that take no frame: they look at their partition's order."""

_NULL_TREATMENTS: Final = {
    built_in.ARRAY_AGG: ("IGNORE", "RESPECT"),
    built_in.FIRST_VALUE: ("IGNORE",),
    built_in.LAST_VALUE: ("IGNORE",),
}
"""Treatments of NULL that a call may ask for. FIRST_VALUE and LAST_VALUE pass over NULL."""

_TIMES = (DateType, TimeType, TimestampType, LocalZonedTimestampType)

Frame = tuple[bool, int | None, int | None]
"""Whether it is of rows, and how far it reaches back and on; None: to the partition's end."""


@dataclass
class Clause:
    """A clause of a query whose expressions may contain aggregates or OVER.

    Attributes:
        name: name for errors.
        bind: binds an expression of the clause.
        aggregates: whether aggregate functions may stand here.
        windows: named windows of the SELECT; None if OVER is not allowed here.
        in_aggregate: whether the arguments of an aggregate function are being bound.
    """

    context: BindingContext
    name: str
    bind: Callable[[exp.Expr], ResolvedExpression]
    aggregates: bool = False
    windows: Mapping[str, nodes.WindowSpecification] | None = None
    in_aggregate: bool = False

    def condition(self, node: exp.Expr, clause: str | None = None) -> ResolvedExpression:
        """The resolved condition, whose type must be BOOLEAN.

        Args:
            clause: clause of the condition, for messages; None: this clause.
        """
        bound = self.bind(node)
        kind = bound.output_type
        if isinstance(kind, NullType):
            return ValueLiteral(None, BooleanType())
        if not isinstance(kind, BooleanType):
            reason = f"{clause or self.name} needs a condition of type BOOLEAN, not {kind}"
            raise self.context.refusal(node, reason)
        return bound


def bind_order(
    context: BindingContext,
    items: Sequence[exp.Expr] | None,
    bind: Callable[[exp.Expr], ResolvedExpression],
) -> tuple[OrderItem, ...]:
    """Bound expressions of ORDER BY; NULLs sort as the smallest values unless the query says
    otherwise."""
    made = []
    for item in items or ():
        ascending = not item.args.get("desc")
        first = item.args.get("nulls_first")
        nulls_first = ascending if first is None else first
        place = context.place(item)
        made.append(OrderItem(bind(item.this), ascending, nulls_first, place))
    return tuple(made)


def bind_aggregate(clause: Clause, node: nodes.FunctionCall) -> ResolvedExpression:
    """Placeholder for an aggregate such as ``SUM(DISTINCT x) FILTER (WHERE y)`` over the rows of
    FROM."""
    function = called_function(clause.context, node)
    if function in WHOLE_PARTITION:
        raise clause.context.refusal(
            node,
            f"{function} needs an OVER clause: OVER (PARTITION BY ... ORDER BY ...)",
        )
    if not clause.aggregates:
        where = "another aggregate" if clause.in_aggregate else clause.name
        raise clause.context.refusal(
            node, f"the aggregate function {node.name} is not allowed in {where}"
        )
    clause.aggregates, clause.in_aggregate = False, True
    try:
        arguments, options, kind = _resolved(clause, node, function)
        condition = node.args.get("filter")
        return AggregatePlaceholder(
            function,
            arguments,
            kind,
            bool(node.args.get("distinct")),
            None if condition is None else clause.condition(condition, "FILTER"),
            options,
            clause.context.place(node),
        )
    finally:
        clause.aggregates, clause.in_aggregate = True, False


def _resolved(
    clause: Clause, node: nodes.FunctionCall, function: FunctionDefinition
) -> tuple[tuple[ResolvedExpression, ...], CallOptions | None, LogicalType]:
    arguments, options = split_arguments(node.arguments, clause.bind)
    if function in (built_in.JSON_ARRAYAGG, built_in.JSON_OBJECTAGG):
        options = with_nested_json(arguments, options)
    treatment = _null_treatment(clause, node, function)
    if function is built_in.ARRAY_AGG:
        options = NullTreatment.IGNORE if treatment == "IGNORE" else None  # RESPECT is no option
    _refuse_order(clause, node, function)
    _refuse_arguments(clause, node, function, arguments)
    types = tuple(argument.output_type for argument in arguments)
    distinct = bool(node.args.get("distinct"))
    try:
        if not function.built_in:
            wanted, kind = function.infer(types)
            return tuple(map(cast_to, arguments, wanted)), None, kind
        return arguments, options, resolve_aggregate(function, types, distinct, options)
    except JobDefinitionError as error:
        raise clause.context.refusal(node, str(error)) from None


def _null_treatment(
    clause: Clause, node: nodes.FunctionCall, function: FunctionDefinition
) -> str | None:
    """The null treatment of the call, IGNORE or RESPECT, or None; refused if the function does
    not support it."""
    given = node.args.get("null_treatment")
    if given is None or given in _NULL_TREATMENTS.get(function, ()):
        return None if given is None else str(given)
    able = ", ".join(
        f"{known} {words} NULLS"
        for known, treatments in _NULL_TREATMENTS.items()
        for words in treatments
    )
    raise clause.context.refusal(
        node, f"{function} does not take {given} NULLS; supported are {able}"
    )


def _refuse_arguments(
    clause: Clause,
    node: nodes.FunctionCall,
    function: FunctionDefinition,
    arguments: tuple[ResolvedExpression, ...],
) -> None:
    """Refuse arguments that Flink refuses: a COUNT of several nullable arguments, and a LISTAGG
    separator that varies."""
    distinct = bool(node.args.get("distinct"))
    # what is never NULL does not decide whether a row counts
    counted = [
        i for i, argument in enumerate(arguments) if distinct or argument.output_type.is_nullable
    ]
    if function is built_in.COUNT and len(counted) > 1:
        raise clause.context.refusal(
            node.arguments[counted[1]],
            "We now only support the count of one field: write COUNT(DISTINCT ROW(a, b)) in place "
            "of COUNT(DISTINCT a, b), and COUNT(*) FILTER (WHERE a IS NOT NULL AND b IS NOT NULL) "
            "in place of COUNT(a, b)",
        )
    if function is built_in.LISTAGG and len(arguments) == 2:
        separator = arguments[1]
        if not isinstance(separator, ValueLiteral) or separator.value is None:
            raise clause.context.refusal(
                node.arguments[1],
                "the separator of LISTAGG must be a literal, such as LISTAGG(x, '; ')",
            )


def _refuse_order(clause: Clause, node: nodes.FunctionCall, function: FunctionDefinition) -> None:
    """Refuse an ORDER BY in the call, as Flink does: rows are aggregated in the order of
    arrival."""
    if order := node.args.get("order"):
        raise clause.context.refusal(
            order[0],
            f"{function} takes no ORDER BY or WITHIN GROUP: it aggregates rows in their "
            "order of arrival",
        )


def bind_grouping(clause: Clause, node: nodes.FunctionCall) -> ResolvedExpression:
    """Placeholder for ``GROUPING(a, b)``."""
    if not clause.aggregates:
        raise clause.context.refusal(node, f"GROUPING is not allowed in {clause.name}")
    columns = tuple(clause.bind(argument) for argument in node.arguments)
    return GroupingPlaceholder(columns, BigIntType(nullable=False))


def bind_over(clause: Clause, node: nodes.FunctionCall) -> ResolvedExpression:
    """Placeholder for a call such as ``SUM(x) OVER w``."""
    if clause.windows is None:
        raise clause.context.refusal(node, f"OVER is not allowed in {clause.name}")
    if function_kind(clause.context, node) is not FunctionKind.AGGREGATE:
        raise clause.context.refusal(node, f"{node.name} cannot be used with OVER")
    function = called_function(clause.context, node)
    arguments, options, kind = _resolved(clause, node, function)
    partition, orders, (rows, preceding, following) = bind_specification(
        clause, node.args["over"], clause.windows
    )
    if not orders and function in WHOLE_PARTITION:
        raise clause.context.refusal(node, f"{function} needs an ORDER BY in its OVER clause")
    if function in WHOLE_PARTITION:
        rows, preceding, following = True, None, 0
    condition = node.args.get("filter")
    return OverPlaceholder(
        function,
        arguments,
        kind,
        partition,
        orders,
        rows,
        preceding,
        following,
        bool(node.args.get("distinct")),
        None if condition is None else clause.condition(condition, "FILTER"),
        options,
        clause.context.place(node),
    )


def bind_specification(
    clause: Clause, given: exp.Expr, named: Mapping[str, nodes.WindowSpecification]
) -> tuple[tuple[ResolvedExpression, ...], tuple[OrderItem, ...], Frame]:
    """PARTITION BY, ORDER BY and the frame of a window."""
    partition, order, frame = _specification(clause, given, named)
    orders = bind_order(clause.context, order, clause.bind)
    bounds = _frame(clause, frame, orders)
    return tuple(clause.bind(key) for key in partition), orders, bounds


def _specification(
    clause: Clause, given: exp.Expr, named: Mapping[str, nodes.WindowSpecification]
) -> tuple[list[exp.Expr], list[exp.Expr], exp.Expr | None]:
    """PARTITION BY, ORDER BY and frame of a window, including those of the window it extends."""
    reference = given if isinstance(given, exp.Identifier) else given.this
    partition: list[exp.Expr] = []
    order: list[exp.Expr] = []
    frame: exp.Expr | None = None
    if reference is not None:
        base = named.get(reference.name)
        if base is None:
            raise clause.context.refusal(given, f"there is no window called {reference.name!r}")
        partition, order, frame = _specification(clause, base, named)
    if isinstance(given, exp.Identifier):
        return partition, order, frame
    return (
        given.args.get("partition_by") or partition,
        given.args.get("order") or order,
        given.args.get("frame") or frame,
    )


def _frame(clause: Clause, frame: exp.Expr | None, orders: tuple[OrderItem, ...]) -> Frame:
    """Kind (ROWS or RANGE) and bounds of a frame; by default the frame ends at the current row
    if there is an order, as in SQL."""
    if frame is None:
        return False, None, 0 if orders else None
    rows = str(frame.args["unit"]).upper() == "ROWS"
    ordered = None if rows or not orders else orders[0].expression.output_type
    start = _bound(clause, frame.args["start"], ordered)
    given = frame.args.get("end")
    end = 0 if given is None else _bound(clause, given, ordered)
    return rows, None if start is None else -start, end


def _bound(clause: Clause, bound: exp.Expr, ordered: LogicalType | None) -> int | None:
    """Bound of a frame as rows or milliseconds after the current row; None if it is unbounded.

    Args:
        ordered: the type by which a RANGE is ordered; None if bounds count rows.
    """
    kind = str(bound.args["kind"])
    if kind == "CURRENT ROW":
        return 0
    if bound.this is None:
        return None
    value = clause.bind(bound.this)
    if not isinstance(value, ValueLiteral) or not isinstance(value.value, int | timedelta):
        raise clause.context.refusal(
            bound, "a bound of OVER must be a constant number or an INTERVAL"
        )
    by_time = isinstance(value.value, timedelta)
    if by_time and ordered is None:
        raise clause.context.refusal(
            bound, "a bound of ROWS must be a number of rows, not an INTERVAL"
        )
    if ordered is not None and by_time != isinstance(ordered, _TIMES):
        wanted = "a number" if by_time else "an INTERVAL"
        raise clause.context.refusal(
            bound,
            "Data Type mismatch between ORDER BY and RANGE clause: ORDER BY has the type "
            f"{ordered}, so the bound must be {wanted}",
        )
    amount = (
        value.value // timedelta(milliseconds=1)
        if isinstance(value.value, timedelta)
        else value.value
    )
    if amount < 0 and ordered is None:
        raise clause.context.refusal(bound, "a bound of ROWS cannot be negative")
    return -amount if kind == "PRECEDING" else amount
