"""Extracts from an OR the conditions that all its alternatives have in common.

``(a AND b) OR (a AND c)`` is ``a AND (b OR c)``: ``a`` may be the key of a join, without which
each row would meet each other. And where each alternative says something of one side of a join,
that side has to fulfil one of these. Flink: ``RexUtil.pullFactors``,
``JoinDependentConditionDerivationRule``.
"""

from __future__ import annotations

from dataclasses import replace

from millrace.common.types.logical.logical_type import BooleanType
from millrace.expressions import built_in
from millrace.expressions.evaluation import is_deterministic
from millrace.expressions.resolved import Call, ResolvedExpression, fields_of
from millrace.planner.relational.rel_node import Filter, Join, JoinKind, RelNode
from millrace.planner.relational.rewriting import bottom_up, conjunction, conjuncts

__all__ = ["with_factored_conditions", "with_side_conditions"]

_LEFT = frozenset({JoinKind.INNER, JoinKind.SEMI, JoinKind.RIGHT})
_RIGHT = frozenset({JoinKind.INNER, JoinKind.SEMI, JoinKind.LEFT, JoinKind.ANTI})
"""Joins that drop rows of this side that do not fulfil the condition."""


def with_factored_conditions(rows: RelNode) -> RelNode:
    """The tree with the common parts of alternatives extracted."""
    return bottom_up(rows, _factored)


def with_side_conditions(rows: RelNode) -> RelNode:
    """The tree with conditions that joins imply for one of their sides; to be applied only once."""
    return bottom_up(rows, _derived)


def _factored(node: RelNode) -> RelNode:
    if not isinstance(node, Filter | Join):
        return node
    parts = [part for conjunct in conjuncts(node.condition) for part in _factors(conjunct)]
    condition = conjunction(parts)
    return node if condition == conjunction(conjuncts(node.condition)) else _with(node, condition)


def _with(node: Filter | Join, condition: ResolvedExpression) -> RelNode:
    return replace(node, condition=condition)


def _factors(condition: ResolvedExpression) -> list[ResolvedExpression]:
    """The common parts of the alternatives, and the rest of the condition."""
    alternatives = [conjuncts(alternative) for alternative in _disjuncts(condition)]
    first, *others = alternatives
    common = [
        part
        for part in first
        if others and is_deterministic(part) and all(part in other for other in others)
    ]
    if not common:
        return [condition]
    rest = [[part for part in alternative if part not in common] for alternative in alternatives]
    return common if not all(rest) else [*common, _disjunction(map(conjunction, rest))]


def _derived(node: RelNode) -> RelNode:
    if not isinstance(node, Join) or node.lateral:
        return node
    width = len(node.left.row_type)
    parts = conjuncts(node.condition)
    left, right = range(width), range(width, width + len(node.right.row_type))
    sides = [left] * (node.kind in _LEFT) + [right] * (node.kind in _RIGHT)
    implied = [_of_side(part, side) for part in parts for side in sides]
    derived = [part for part in implied if part is not None and part not in parts]
    return replace(node, condition=conjunction([*parts, *derived])) if derived else node


def _of_side(condition: ResolvedExpression, side: range) -> ResolvedExpression | None:
    """The condition that the alternatives of a condition on both sides imply for one side."""
    alternatives = _disjuncts(condition)
    if len(alternatives) < 2 or not is_deterministic(condition):
        return None
    if all(index in side for index in fields_of(condition)):
        return None
    parts = [
        [part for part in conjuncts(alternative) if _reads_only(part, side)]
        for alternative in alternatives
    ]
    return _disjunction(map(conjunction, parts)) if all(parts) else None


def _reads_only(condition: ResolvedExpression, side: range) -> bool:
    fields = list(fields_of(condition))
    return bool(fields) and all(index in side for index in fields)


def _disjuncts(condition: ResolvedExpression) -> list[ResolvedExpression]:
    if isinstance(condition, Call) and condition.function is built_in.OR:
        return [part for operand in condition.arguments for part in _disjuncts(operand)]
    return [condition]


def _disjunction(parts: map[ResolvedExpression]) -> ResolvedExpression:
    given = tuple(dict.fromkeys(parts))
    if len(given) == 1:
        return given[0]
    nullable = any(part.output_type.is_nullable for part in given)
    return Call(built_in.OR, given, BooleanType(nullable=nullable))
