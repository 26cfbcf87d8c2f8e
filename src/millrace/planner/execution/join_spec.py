"""`join_spec`: what the operators of all joins are told of a join."""

from __future__ import annotations

from millrace.expressions.resolved import ResolvedExpression
from millrace.planner.relational.join_conditions import join_condition
from millrace.planner.relational.rel_node import Join, JoinKind
from millrace.runtime.table.join_pairs import JoinSpec

__all__ = ["join_spec"]


def join_spec(node: Join, without: tuple[ResolvedExpression, ...] = ()) -> JoinSpec:
    """What every join knows; ``without``: conditions that the operator knows otherwise."""
    condition, kind = join_condition(node), node.kind
    return JoinSpec(
        (node.left.row_type, node.right.row_type),
        (condition.left, condition.right),
        condition.without(without).condition,
        (kind in (JoinKind.LEFT, JoinKind.FULL), kind in (JoinKind.RIGHT, JoinKind.FULL)),
        pairs=kind not in (JoinKind.SEMI, JoinKind.ANTI),
        matched=kind is JoinKind.SEMI,
        output_type=node.row_type,
    )
