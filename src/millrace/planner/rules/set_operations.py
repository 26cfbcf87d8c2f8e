"""Replaces INTERSECT, EXCEPT and UNION without ALL by aggregates over UNION ALL.

Rows that are equal in all columns are a group, in which null equals null; it knows how many rows
each input has of it. Flink: ``RewriteIntersectAllRule``, ``RewriteMinusAllRule`` and their kin.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce

from millrace.common.types.logical.logical_type import (
    BigIntType,
    BooleanType,
    RowField,
    RowType,
)
from millrace.expressions import built_in
from millrace.expressions.registry import resolve_call
from millrace.expressions.resolved import (
    AggregateCall,
    ResolvedExpression,
    ValueLiteral,
)
from millrace.planner.binder.names import unique_names
from millrace.planner.relational.outer_references import from_inside
from millrace.planner.relational.rel_node import (
    Aggregate,
    Join,
    JoinKind,
    Project,
    RelNode,
    SetKind,
    SetOperation,
    TableFunctionKind,
    TableFunctionScan,
)
from millrace.planner.relational.rewriting import bottom_up, conjunction, filtered

__all__ = ["with_set_operations"]

_FLAG = BooleanType(nullable=False)
_COUNT = BigIntType(nullable=False)
_ZERO = ValueLiteral(0, _COUNT)


def with_set_operations(rows: RelNode) -> RelNode:
    """The tree with UNION ALL as its only set operation."""
    return bottom_up(rows, _changed)


def _changed(node: RelNode) -> RelNode:
    if not isinstance(node, SetOperation) or (node.kind is SetKind.UNION and node.all):
        return node
    width = len(node.row_type)
    if node.kind is SetKind.UNION:
        return Aggregate(replace(node, all=True), tuple(range(width)), (), place=node.place)
    counted = _counted(node)
    counts: list[ResolvedExpression] = [
        counted.field(width + number) for number in range(len(node.operands))
    ]
    if node.kind is SetKind.INTERSECT:
        times = reduce(_least, counts)
        kept = [resolve_call(built_in.GREATER_THAN, (count, _ZERO)) for count in counts]
    elif node.all:
        times = resolve_call(built_in.MINUS, (counts[0], counts[1]))
        kept = [resolve_call(built_in.GREATER_THAN, (times, _ZERO))]
    else:
        times = counts[0]
        kept = [
            resolve_call(built_in.GREATER_THAN, (counts[0], _ZERO)),
            resolve_call(built_in.EQUALS, (counts[1], _ZERO)),
        ]
    rows = filtered(counted, kept)
    if node.all:
        rows = _repeated(rows, times)
    fields = tuple(rows.field(index) for index in range(width))
    return Project(rows, fields, node.row_type.names)


def _counted(node: SetOperation) -> Aggregate:
    """The distinct rows, and their number in each operand."""
    width, count = len(node.row_type), len(node.operands)
    names = unique_names((*node.row_type.names, *(f"$in{number}" for number in range(count))))
    marked = []
    for position, operand in enumerate(node.operands):
        flags = (ValueLiteral(number == position, _FLAG) for number in range(count))
        fields = (operand.field(index) for index in range(width))
        marked.append(Project(operand, (*fields, *flags), names))
    more = tuple(RowField(name, _FLAG) for name in names[width:])
    row_type = RowType((*node.row_type.fields, *more), nullable=False)
    union = SetOperation(SetKind.UNION, True, tuple(marked), row_type)
    calls = tuple(
        AggregateCall(built_in.COUNT, (), _COUNT, filter=width + number, name=f"$count{number}")
        for number in range(count)
    )
    return Aggregate(union, tuple(range(width)), calls, place=node.place)


def _least(left: ResolvedExpression, right: ResolvedExpression) -> ResolvedExpression:
    return resolve_call(
        built_in.CASE, (resolve_call(built_in.LESS_THAN, (left, right)), left, right)
    )


def _repeated(rows: RelNode, times: ResolvedExpression) -> RelNode:
    """The rows, each repeated the given number of times."""
    arguments = (from_inside(times),)
    scan = TableFunctionScan(
        TableFunctionKind.REPLICATE_ROWS, arguments, RowType((), nullable=False)
    )
    names = rows.row_type.names
    return Join(rows, scan, JoinKind.INNER, conjunction(()), names, lateral=True)
