"""Computed join keys become columns below the join.

Rows go to the subtask of their key by columns. An equality of expressions, such as that of an INT
and a BIGINT, becomes one of columns that projections below the join add, and one above it drops.
"""

from __future__ import annotations

from dataclasses import replace

from millrace.expressions import built_in
from millrace.expressions.evaluation import is_deterministic
from millrace.expressions.resolved import Call, FieldReference, ResolvedExpression
from millrace.planner.relational.join_conditions import equal_sides
from millrace.planner.relational.rel_node import Join, JoinKind, Project, RelNode
from millrace.planner.relational.rewriting import bottom_up, conjunction, conjuncts, moved

__all__ = ["with_join_keys"]

Sides = tuple[ResolvedExpression, ResolvedExpression]
"""The equal expressions of the left and of the right row; both are over the joined row."""


def with_join_keys(rows: RelNode) -> RelNode:
    """The tree with the computed keys of its joins as columns."""
    return bottom_up(rows, _with_keys)


def _with_keys(node: RelNode) -> RelNode:
    if not isinstance(node, Join) or node.lateral:
        return node
    parts = conjuncts(node.condition)
    width = len(node.left.row_type.fields)
    equal = {part: sides for part in parts if (sides := _computed(part, width)) is not None}
    if not equal:
        return node
    right_width = len(node.right.row_type.fields)
    to_right = {width + index: index for index in range(right_width)}
    left = _extended(node.left, [one for one, _ in equal.values()], "left")
    right = _extended(node.right, [moved(two, to_right) for _, two in equal.values()], "right")
    shift = {index: index for index in range(width)}
    shift |= {width + index: width + len(equal) + index for index in range(right_width)}
    others = [moved(part, shift) for part in parts if part not in equal]
    keys = [
        _equality(part, left.field(width + number), right.field(right_width + number), left)
        for number, part in enumerate(equal)
    ]
    names = left.row_type.names
    shown = list(range(width))
    if node.kind not in (JoinKind.SEMI, JoinKind.ANTI):
        names = (*_unique(names, "l"), *_unique(right.row_type.names, "r"))
        shown += [shift[width + index] for index in range(right_width)]
    join = replace(
        node, left=left, right=right, condition=conjunction([*keys, *others]), names=names
    )
    return Project(join, tuple(join.field(index) for index in shown), node.names)


def _computed(part: ResolvedExpression, width: int) -> Sides | None:
    """Both sides of an equality, unless both are columns already."""
    sides = equal_sides(part, width)
    if sides is None or all(isinstance(side, FieldReference) for side in sides):
        return None
    return sides if all(is_deterministic(side) for side in sides) else None


def _extended(rows: RelNode, keys: list[ResolvedExpression], side: str) -> Project:
    """The rows with the keys appended as columns."""
    columns = tuple(rows.field(index) for index in range(len(rows.row_type.fields)))
    names = tuple(f"$key_{side}_{number}" for number in range(len(keys)))
    return Project(rows, (*columns, *keys), (*rows.row_type.names, *names))


def _equality(
    part: ResolvedExpression, one: FieldReference, two: FieldReference, left: RelNode
) -> Call:
    """Equality of one column of each side, over the joined row."""
    behind = replace(two, index=two.index + len(left.row_type.fields))
    return Call(built_in.EQUALS, (one, behind), part.output_type)


def _unique(names: tuple[str, ...], side: str) -> tuple[str, ...]:
    """Names that the other side does not have."""
    return tuple(f"${side}_{name}" for name in names)
