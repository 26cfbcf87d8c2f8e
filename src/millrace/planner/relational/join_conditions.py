"""`join_condition`: finds the equalities in a join's condition, with which rows are matched.

Flink: ``JoinInfo``.
"""

from __future__ import annotations

from dataclasses import dataclass

from millrace.common.types.logical.arrow_type import arrow_type
from millrace.common.types.logical.logical_type import LogicalType
from millrace.expressions import built_in
from millrace.expressions.resolved import Call, FieldReference, ResolvedExpression, fields_of
from millrace.planner.relational.rel_node import Join
from millrace.planner.relational.rewriting import conjunction, conjuncts

__all__ = ["JoinCondition", "equal_by_bytes", "equal_sides", "join_condition"]


@dataclass(frozen=True)
class JoinCondition:
    """A join's condition, split into equal columns and the rest.

    Attributes:
        left, right: positions of the columns that must be equal, in pairs, each in the row of its
            side.
        residual: the other conditions, over the joined row.
    """

    left: tuple[int, ...]
    right: tuple[int, ...]
    residual: tuple[ResolvedExpression, ...]

    @property
    def condition(self) -> ResolvedExpression | None:
        """The rest of the condition; None if there is no rest."""
        return conjunction(self.residual) if self.residual else None

    def without(self, parts: tuple[ResolvedExpression, ...]) -> JoinCondition:
        """The same condition without some of its parts other than equalities, because the join
        checks these parts elsewhere."""
        kept = tuple(part for part in self.residual if part not in parts)
        return JoinCondition(self.left, self.right, kept)


def join_condition(node: Join) -> JoinCondition:
    """The condition of a join, split into equal columns and the rest."""
    width = len(node.left.row_type)
    pairs: dict[tuple[int, int], None] = {}
    residual = []
    for part in conjuncts(node.condition):
        sides = equal_sides(part, width)
        if sides is not None and all(isinstance(side, FieldReference) for side in sides):
            left, right = (next(fields_of(side)) for side in sides)
            pairs[left, right - width] = None
        else:
            residual.append(part)
    return JoinCondition(
        tuple(one for one, _ in pairs), tuple(two for _, two in pairs), tuple(residual)
    )


def equal_sides(
    part: ResolvedExpression, width: int
) -> tuple[ResolvedExpression, ResolvedExpression] | None:
    """The left and right expressions of an equality, both over the joined row; None if the
    condition is not such an equality, or if the types are not `equal_by_bytes`."""
    if not isinstance(part, Call) or part.function is not built_in.EQUALS:
        return None
    one, two = part.arguments
    if max(fields_of(one), default=-1) >= width:
        one, two = two, one
    left, right = list(fields_of(one)), list(fields_of(two))
    if not left or not right or max(left) >= width or min(right) < width:
        return None
    return (one, two) if equal_by_bytes(one.output_type, two.output_type) else None


def equal_by_bytes(one: LogicalType, two: LogicalType) -> bool:
    """Whether values of two types can be compared by their bytes in Arrow's columns. Joins compare
    floating-point numbers this way, as Flink does: NaN matches NaN, and -0.0 does not match 0.0.
    """
    return bool(arrow_type(one) == arrow_type(two))
