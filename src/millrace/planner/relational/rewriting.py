"""Helpers of all rules, to walk and change trees."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from millrace.common.types.logical.logical_type import BooleanType
from millrace.expressions import built_in
from millrace.expressions.resolved import Call, FieldReference, ResolvedExpression, ValueLiteral
from millrace.planner.relational.rel_node import Filter, RelNode

__all__ = [
    "bottom_up",
    "conjunction",
    "conjuncts",
    "filtered",
    "moved",
    "substituted",
]


def bottom_up(node: RelNode, change: Callable[[RelNode], RelNode]) -> RelNode:
    """The tree with ``change`` applied to each node, inputs first; shared nodes stay shared."""
    done: dict[int, tuple[RelNode, RelNode]] = {}  # the key's node is kept, so its id is its own

    def visit(node: RelNode) -> RelNode:
        if id(node) in done:
            return done[id(node)][1]
        inputs = tuple(visit(child) for child in node.inputs)
        same = all(new is old for new, old in zip(inputs, node.inputs, strict=True))
        made = change(node if same else node.with_inputs(inputs))
        done[id(node)] = (node, made)
        return made

    return visit(node)


def conjuncts(condition: ResolvedExpression) -> list[ResolvedExpression]:
    """The parts of a condition that are combined by AND."""
    if isinstance(condition, Call) and condition.function is built_in.AND:
        return [part for operand in condition.arguments for part in conjuncts(operand)]
    if isinstance(condition, ValueLiteral) and condition.value is True:
        return []
    return [condition]


def conjunction(parts: Iterable[ResolvedExpression]) -> ResolvedExpression:
    """The parts combined by AND; TRUE if there are none."""
    given = tuple(dict.fromkeys(parts))
    if not given:
        return ValueLiteral(True, BooleanType(nullable=False))
    if len(given) == 1:
        return given[0]
    nullable = any(part.output_type.is_nullable for part in given)
    return Call(built_in.AND, given, BooleanType(nullable=nullable))


def filtered(rows: RelNode, parts: Iterable[ResolvedExpression]) -> RelNode:
    """The rows for which all parts are TRUE."""
    condition = conjunction(parts)
    return rows if not conjuncts(condition) else Filter(rows, condition)


def moved(expression: ResolvedExpression, positions: Mapping[int, int]) -> ResolvedExpression:
    """The expression with its column positions replaced."""
    return substituted(
        expression,
        lambda field: FieldReference(positions[field.index], field.type, field.name),
    )


def substituted(
    expression: ResolvedExpression, change: Callable[[FieldReference], ResolvedExpression]
) -> ResolvedExpression:
    """The expression with its field references replaced."""
    if isinstance(expression, FieldReference):
        return change(expression)
    children = expression.children()
    if not children:
        return expression
    changed = tuple(substituted(child, change) for child in children)
    same = all(new is old for new, old in zip(changed, children, strict=True))
    return expression if same else expression.with_children(changed)
