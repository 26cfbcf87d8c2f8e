"""Expressions of nodes, and references in a tree to rows of outer queries."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from millrace.expressions.resolved import FieldReference, OuterReference, ResolvedExpression
from millrace.planner.relational.rel_node import (
    Filter,
    Join,
    Project,
    RelNode,
    Subquery,
    TableFunctionScan,
    Values,
)
from millrace.planner.relational.stream_rel_nodes import LogicalSnapshot

__all__ = [
    "expressions_of",
    "from_inside",
    "has_any_outer",
    "has_outer",
    "map_outer",
    "refers_outside",
    "with_expressions",
]

Change = Callable[[ResolvedExpression], ResolvedExpression]


def expressions_of(node: RelNode) -> tuple[ResolvedExpression, ...]:
    """The expressions of a node, without those of its inputs."""
    if isinstance(node, Project):
        return node.expressions
    if isinstance(node, Filter | Join):
        return (node.condition,)
    if isinstance(node, TableFunctionScan):
        return node.arguments
    if isinstance(node, LogicalSnapshot):
        return (node.period,)
    if isinstance(node, Values):
        return tuple(value for row in node.rows for value in row)
    return ()


def from_inside(expression: ResolvedExpression, level: int = 1) -> ResolvedExpression:
    """Rewrite an expression over a row for use in a query that is nested ``level`` deeper."""
    if isinstance(expression, FieldReference):
        return OuterReference(level, expression.index, expression.type, expression.name)
    if isinstance(expression, OuterReference):
        return replace(expression, level=expression.level + level)
    children = tuple(from_inside(child, level) for child in expression.children())
    return expression.with_children(children) if children else expression


def with_expressions(node: RelNode, change: Change) -> RelNode:
    """The same node, with ``change`` applied to each of its expressions."""
    if isinstance(node, Project):
        return replace(node, expressions=tuple(map(change, node.expressions)))
    if isinstance(node, Filter | Join):
        return replace(node, condition=change(node.condition))
    if isinstance(node, TableFunctionScan):
        return replace(node, arguments=tuple(map(change, node.arguments)))
    if isinstance(node, LogicalSnapshot):
        return replace(node, period=change(node.period))
    if isinstance(node, Values):
        return replace(node, rows=tuple(tuple(map(change, row)) for row in node.rows))
    return node


def _levels(expression: ResolvedExpression) -> Iterator[int]:
    if isinstance(expression, OuterReference):
        yield expression.level
    if isinstance(expression, Subquery):
        yield from (level - 1 for level in _outer_levels(expression.relation))
    for child in expression.children():
        yield from _levels(child)


def _outer_levels(node: RelNode) -> Iterator[int]:
    for expression in expressions_of(node):
        yield from _levels(expression)
    for position, child in enumerate(node.inputs):
        # the right side of a lateral join is one query further in
        inner = 1 if isinstance(node, Join) and node.lateral and position == 1 else 0
        yield from (level - inner for level in _outer_levels(child))


def refers_outside(expression: ResolvedExpression) -> bool:
    """Whether an expression refers to a row of any outer query."""
    return any(level > 0 for level in _levels(expression))


def has_outer(node: RelNode, level: int) -> bool:
    """Whether a tree refers to the row of the query that is ``level`` queries outside of it."""
    return any(outer_level == level for outer_level in _outer_levels(node))


def has_any_outer(node: RelNode) -> bool:
    """Whether a tree refers to a row of any outer query."""
    return any(level > 0 for level in _outer_levels(node))


def map_outer(
    node: RelNode, level: int, change: Callable[[OuterReference], ResolvedExpression]
) -> RelNode:
    """The tree, with ``change`` applied to references to the row of the query that is ``level``
    queries outside of it."""

    def expression(part: ResolvedExpression) -> ResolvedExpression:
        if isinstance(part, OuterReference):
            return change(part) if part.level == level else part
        children = part.children()
        if children:
            part = part.with_children(tuple(map(expression, children)))
        if isinstance(part, Subquery):
            part = replace(part, relation=map_outer(part.relation, level + 1, change))
        return part

    inputs = tuple(
        map_outer(
            child,
            level + (1 if isinstance(node, Join) and node.lateral and position == 1 else 0),
            change,
        )
        for position, child in enumerate(node.inputs)
    )
    if any(new is not old for new, old in zip(inputs, node.inputs, strict=True)):
        node = node.with_inputs(inputs)
    return with_expressions(node, expression)
