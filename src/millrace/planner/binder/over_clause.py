"""OVER: moves windowed aggregates from bound expressions into an OverAggregate node."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from millrace.expressions.resolved import (
    AggregateCall,
    FieldReference,
    ResolvedExpression,
    SortKey,
)
from millrace.planner.binder.names import unique_names
from millrace.planner.binder.placeholders import OverPlaceholder
from millrace.planner.relational.rel_node import Project, RelNode
from millrace.planner.relational.stream_rel_nodes import OverAggregate, OverGroup

__all__ = ["over_aggregate"]

_Position = Callable[[ResolvedExpression], int]
Frame = tuple[tuple[ResolvedExpression, ...], tuple[object, ...], bool, int | None, int | None]


def over_aggregate(
    rows: RelNode, expressions: Sequence[ResolvedExpression]
) -> tuple[RelNode, tuple[ResolvedExpression, ...]]:
    """The rows with a column per windowed aggregate, and the expressions that read those
    columns."""
    frames: dict[Frame, list[OverPlaceholder]] = {}
    for expression in expressions:
        for each in _placeholders(expression):
            calls = frames.setdefault(_frame(each), [])
            if each not in calls:
                calls.append(each)
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
            tuple(_call(each, position, f"w{i}$o{k}") for k, each in enumerate(calls)),
        )
        for i, calls in enumerate(frames.values())
    ]
    base = rows
    if len(fields) > len(rows.row_type):
        base = Project(rows, tuple(fields), unique_names(names))
    over = OverAggregate(base, tuple(groups), place=groups[0].calls[0].place)
    ordered = [each for calls in frames.values() for each in calls]
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
    return [each for child in expression.children() for each in _placeholders(child)]


def _frame(each: OverPlaceholder) -> Frame:
    return each.partition, each.order, each.rows, each.preceding, each.following


def _call(each: OverPlaceholder, position: _Position, name: str) -> AggregateCall:
    return AggregateCall(
        each.function,
        tuple(position(argument) for argument in each.arguments),
        each.type,
        each.distinct,
        None if each.filter is None else position(each.filter),
        options=each.options,
        name=name,
        place=each.place,
    )
