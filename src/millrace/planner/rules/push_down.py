"""Pushes filters towards the sources, and merges consecutive projections.

Flink: ``FilterProjectTransposeRule``, ``FilterJoinRule``, ``ProjectMergeRule``.
"""

from __future__ import annotations

from dataclasses import replace

from millrace.expressions.evaluation import is_deterministic
from millrace.expressions.resolved import (
    FieldReference,
    ResolvedExpression,
    fields_of,
)
from millrace.planner.relational.rel_node import (
    Aggregate,
    Filter,
    Join,
    JoinKind,
    Project,
    RelNode,
    SetOperation,
)
from millrace.planner.relational.rewriting import (
    bottom_up,
    conjunction,
    conjuncts,
    filtered,
    moved,
    substituted,
)
from millrace.planner.relational.snapshots import snapshot_side
from millrace.planner.relational.stream_rel_nodes import WindowKind, WindowTableFunction

__all__ = ["pushed_down"]


def pushed_down(rows: RelNode) -> RelNode:
    """The tree with its filters as near to the sources as possible without changing the result."""
    return bottom_up(rows, _changed)


def _changed(node: RelNode) -> RelNode:
    if isinstance(node, Project) and isinstance(node.input, Project):
        return _merged(node, node.input)
    if isinstance(node, Filter):
        return _pushed(node.input, conjuncts(node.condition))
    if isinstance(node, Join) and not node.lateral:
        return _join_condition(node)
    return node


def _merged(outer: Project, inner: Project) -> RelNode:
    used = [index for projection in outer.expressions for index in fields_of(projection)]
    for index, expression in enumerate(inner.expressions):
        # what is not a column is computed once, so it is merged into one use only
        costly = not isinstance(expression, FieldReference) and bool(expression.children())
        if (costly or not is_deterministic(expression)) and used.count(index) > 1:
            return outer
    expressions = tuple(
        substituted(projection, lambda field: inner.expressions[field.index])
        for projection in outer.expressions
    )
    return Project(inner.input, expressions, outer.names)


def _pushed(rows: RelNode, parts: list[ResolvedExpression]) -> RelNode:
    """The rows for which all parts are TRUE, with the parts pushed as far down as possible."""
    if not parts:
        return rows
    if isinstance(rows, Filter):
        return _pushed(rows.input, [*conjuncts(rows.condition), *parts])
    if isinstance(rows, Project):
        return _through_project(rows, parts)
    if isinstance(rows, SetOperation):
        inputs = tuple(_pushed(operand, parts) for operand in rows.inputs)
        return rows.with_inputs(inputs)
    if isinstance(rows, Aggregate) and rows.grouping_sets is None and rows.groups:
        return _through_keys(rows, parts)
    if isinstance(rows, Join):
        return _through_join(rows, parts)
    if isinstance(rows, WindowTableFunction) and rows.window.kind is not WindowKind.SESSION:
        # a session depends on which rows there are, other windows do not
        width = len(rows.input.row_type)
        below = [part for part in parts if all(index < width for index in fields_of(part))]
        rows = replace(rows, input=_pushed(rows.input, below))
        return filtered(rows, [part for part in parts if part not in below])
    return filtered(rows, parts)


def _through_project(rows: Project, parts: list[ResolvedExpression]) -> RelNode:
    def movable(part: ResolvedExpression) -> bool:
        return all(is_deterministic(rows.expressions[index]) for index in fields_of(part))

    below = [
        substituted(part, lambda field: rows.expressions[field.index])
        for part in parts
        if movable(part)
    ]
    kept = [part for part in parts if not movable(part)]
    return filtered(replace(rows, input=_pushed(rows.input, below)), kept)


def _through_keys(rows: Aggregate, parts: list[ResolvedExpression]) -> RelNode:
    keys = len(rows.groups)
    below = [part for part in parts if all(index < keys for index in fields_of(part))]
    if not below:
        return filtered(rows, parts)
    positions = dict(enumerate(rows.groups))
    inner = _pushed(rows.input, [moved(part, positions) for part in below])
    return filtered(replace(rows, input=inner), [part for part in parts if part not in below])


def _sides(
    parts: list[ResolvedExpression], width: int
) -> tuple[list[ResolvedExpression], list[ResolvedExpression], list[ResolvedExpression]]:
    """Conditions on the left row, on the right one (over it), and on both."""
    left, right, both = [], [], []
    for part in parts:
        fields = set(fields_of(part))
        if fields and all(index < width for index in fields):
            left.append(part)
        elif fields and all(index >= width for index in fields):
            right.append(moved(part, {index: index - width for index in fields}))
        else:
            both.append(part)
    return left, right, both


def _through_join(rows: Join, parts: list[ResolvedExpression]) -> RelNode:
    width = len(rows.left.row_type)
    left, right, both = _sides(parts, width)
    right_again = [moved(part, _shift(part, width)) for part in right]
    if rows.kind in (JoinKind.RIGHT, JoinKind.FULL):
        both, left = [*both, *left], []
    if rows.kind in (JoinKind.LEFT, JoinKind.FULL) or rows.lateral:
        both, right = [*both, *right_again], []
    made = replace(rows, left=_pushed(rows.left, left), right=_pushed(rows.right, right))
    joined = not rows.lateral or snapshot_side(rows) is not None
    if rows.kind is JoinKind.INNER and both and joined:
        condition = conjunction([*conjuncts(rows.condition), *both])
        return replace(made, condition=condition)
    return filtered(made, both)


def _shift(expression: ResolvedExpression, width: int) -> dict[int, int]:
    return {index: index + width for index in fields_of(expression)}


def _join_condition(node: Join) -> RelNode:
    """Turn conditions of ON that read only one side into filters of that side, if this keeps
    their meaning."""
    width = len(node.left.row_type)
    left, right, both = _sides(conjuncts(node.condition), width)
    keep_left = node.kind not in (JoinKind.INNER, JoinKind.RIGHT, JoinKind.SEMI)
    keep_right = node.kind in (JoinKind.RIGHT, JoinKind.FULL)
    again = [moved(part, _shift(part, width)) for part in right]
    kept = [*both, *(left if keep_left else []), *(again if keep_right else [])]
    left = [] if keep_left else left
    right = [] if keep_right else right
    if not left and not right:
        return node
    return replace(
        node,
        left=_pushed(node.left, left),
        right=_pushed(node.right, right),
        condition=conjunction(kept),
    )
