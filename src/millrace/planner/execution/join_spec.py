"""Parts of a join that every join operator needs, and that decide the meaning of its state."""

from __future__ import annotations

from millrace.expressions.resolved import ResolvedExpression
from millrace.planner.execution.state_signature import StateSignature
from millrace.planner.execution.translation import Translator
from millrace.planner.relational.join_conditions import join_condition
from millrace.planner.relational.rel_node import Join, JoinKind
from millrace.table_runtime.join_pairs import JoinSpec

__all__ = ["join_spec", "state_signature"]


def join_spec(node: Join, without: tuple[ResolvedExpression, ...] = ()) -> JoinSpec:
    """The spec shared by all join operators; ``without`` are conditions that the operator gets
    in another way."""
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


def state_signature(
    node: Join, join: JoinSpec, translator: Translator, **parts: object
) -> StateSignature:
    """Signature of the state: rows of both sides by key, with their matches on the other side.

    Args:
        parts: parts of the query, besides the condition, that decide which rows are kept and how
            long.
    """
    left, right = (translator.provenance(translator.input(each)) for each in node.inputs)
    pairs = left.beside(right)
    return StateSignature.of(
        left,
        right,
        kind=node.kind,
        kept=(left.columns, right.columns),
        keys=(left.at(join.keys[0]), right.at(join.keys[1])),
        condition=pairs.expression(join.condition),
        **parts,
    )
