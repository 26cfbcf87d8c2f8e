"""Turns a filter on the row number into a Top-N, or into a deduplication if it keeps one row by
time.

Flink: ``FlinkLogicalRankRule``, ``StreamPhysicalDeduplicateRule``, ``WindowRank``.
"""

from __future__ import annotations

from dataclasses import replace

from millrace.common.types.logical.logical_type import BigIntType
from millrace.expressions import built_in
from millrace.expressions.resolved import (
    Call,
    Cast,
    FieldReference,
    ResolvedExpression,
    ValueLiteral,
)
from millrace.planner.binder.names import unique_names
from millrace.planner.inference.time_attributes import time_attributes
from millrace.planner.relational.rel_node import Filter, Project, RelNode
from millrace.planner.relational.rewriting import bottom_up, conjuncts, filtered, substituted
from millrace.planner.relational.stream_rel_nodes import (
    Deduplicate,
    OverAggregate,
    Rank,
    RankKind,
    TimeAttribute,
)
from millrace.planner.relational.windows import windows_of

__all__ = ["rank_without_end", "with_ranks"]

KINDS = {
    built_in.ROW_NUMBER: RankKind.ROW_NUMBER,
    built_in.RANK: RankKind.RANK,
    built_in.DENSE_RANK: RankKind.DENSE_RANK,
}


def with_ranks(rows: RelNode) -> RelNode:
    """The tree with Top-N and deduplication in place of filters on ROW_NUMBER and similar
    functions."""
    return bottom_up(rows, _changed)


def _changed(node: RelNode) -> RelNode:
    if not isinstance(node, Filter):
        return node
    if isinstance(node.input, Project) and isinstance(node.input.input, OverAggregate):
        project = node.input
        parts = [
            substituted(part, lambda field: project.expressions[field.index])
            for part in conjuncts(node.condition)
        ]
        made = _ranked(project.input, parts)
        return node if made is None else replace(project, input=made)
    if isinstance(node.input, OverAggregate):
        return _ranked(node.input, conjuncts(node.condition)) or node
    return node


def _ranked(over: RelNode, parts: list[ResolvedExpression]) -> RelNode | None:
    """A Top-N with the columns of ``over``; None if the filter has no upper bound."""
    assert isinstance(over, OverAggregate)
    if len(over.over) != 1 or len(over.over[0].calls) != 1:
        return None
    group = over.over[0]
    kind = KINDS.get(group.calls[0].function)
    number = len(over.input.row_type)
    if kind is None:
        return None
    start, end = 1, None
    others: list[ResolvedExpression] = []
    for part in parts:
        bounds = _bounds(part, number)
        if bounds is None:
            others.append(part)
            continue
        low, high = bounds
        start = max(start, low)
        end = high if end is None or (high is not None and high < end) else end
    if end is None:
        return None
    window = _window(over.input, group.partition)
    rank: RelNode = Rank(
        over.input,
        kind,
        group.partition,
        group.order,
        start,
        end,
        over.row_type.names[number],
        window,
        place=over.place,
    )
    assert isinstance(rank, Rank)
    return filtered(_deduplicated(rank) or rank, others)


def rank_without_end(node: Filter) -> OverAggregate | None:
    """The row numbers that a filter limits only from below, so that a Top-N cannot replace them;
    None if there are none.
    """
    rows, parts = node.input, conjuncts(node.condition)
    if isinstance(rows, Project):
        project = rows
        parts = [
            substituted(part, lambda field: project.expressions[field.index]) for part in parts
        ]
        rows = project.input
    if not isinstance(rows, OverAggregate):
        return None
    if len(rows.over) != 1 or len(rows.over[0].calls) != 1:
        return None
    if rows.over[0].calls[0].function not in KINDS:
        return None
    limits = [_bounds(part, len(rows.input.row_type)) for part in parts]
    return rows if any(limit is not None and limit[1] is None for limit in limits) else None


def _bounds(part: ResolvedExpression, number: int) -> tuple[int, int | None] | None:
    """The least and the greatest row number that a condition allows; None if it reads other
    columns."""
    if not isinstance(part, Call) or part.function not in built_in.SWAPPED_COMPARISONS:
        return None
    function, (left, right) = part.function, part.arguments
    value = _constant(right)
    if value is None:
        left, right, value = right, left, _constant(left)
        function = built_in.SWAPPED_COMPARISONS[function]
    while isinstance(left, Cast):
        left = left.operand
    if value is None or not isinstance(left, FieldReference) or left.index != number:
        return None
    return {
        built_in.LESS_THAN: (1, value - 1),
        built_in.LESS_THAN_OR_EQUAL: (1, value),
        built_in.EQUALS: (value, value),
        built_in.GREATER_THAN: (value + 1, None),
        built_in.GREATER_THAN_OR_EQUAL: (value, None),
    }.get(function)


def _constant(expression: ResolvedExpression) -> int | None:
    while isinstance(expression, Cast):
        expression = expression.operand
    if isinstance(expression, ValueLiteral) and isinstance(expression.value, int):
        return expression.value
    return None


def _window(rows: RelNode, partition: tuple[int, ...]) -> tuple[int, int] | None:
    columns = windows_of(rows)
    if columns is None:
        return None
    start, end = columns.start & set(partition), columns.end & set(partition)
    return (min(start), min(end)) if start and end else None


def _deduplicated(rank: Rank) -> RelNode | None:
    """The first or last row by a time attribute, always with row number 1; None if the Top-N is
    not a deduplication."""
    if rank.rank_kind is not RankKind.ROW_NUMBER or (rank.start, rank.end) != (1, 1):
        return None
    if len(rank.order) != 1:
        return None
    key = rank.order[0]
    time = time_attributes(rank.input).get(key.index)
    if time is None:
        return None
    rowtime = time is TimeAttribute.ROWTIME
    rows = Deduplicate(
        *(rank.input, rank.partition, key.index, rowtime, not key.ascending, rank.window),
        place=rank.place,
    )
    fields: list[ResolvedExpression] = [rows.field(index) for index in range(len(rows.row_type))]
    fields.append(ValueLiteral(1, BigIntType(nullable=False)))
    return Project(rows, tuple(fields), unique_names(rank.row_type.names))
