"""Pushes conditions on partition columns into a table's source, which then skips partitions.

The filter stays where it is. Flink: ``PushPartitionIntoTableSourceScanRule``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from millrace.common.types.logical.logical_type import LocalZonedTimestampType
from millrace.expressions import built_in
from millrace.expressions.resolved import (
    Call,
    Cast,
    FieldReference,
    ResolvedExpression,
    ValueLiteral,
    fields_of,
)
from millrace.planner.relational.rel_node import Filter, Project, RelNode, TableScan
from millrace.planner.relational.rewriting import bottom_up, conjunction, conjuncts, substituted
from millrace.planner.relational.stream_rel_nodes import WatermarkAssigner

__all__ = ["with_pruned_partitions"]

_PURE = frozenset(
    (
        *built_in.SWAPPED_COMPARISONS,
        *(built_in.AND, built_in.OR, built_in.NOT, built_in.IN),
        *(built_in.IS_NULL, built_in.IS_NOT_NULL),
    )
)
"""Functions whose value is the same whenever and wherever it is asked for."""


def with_pruned_partitions(rows: RelNode) -> RelNode:
    """The tree whose scans know the required partitions."""
    return bottom_up(rows, _changed)


def _changed(node: RelNode) -> RelNode:
    if not isinstance(node, Filter):
        return node
    pushed = _pushed(node.input, conjuncts(node.condition))
    return node if pushed is None else replace(node, input=pushed)


def _pushed(rows: RelNode, parts: Sequence[ResolvedExpression]) -> RelNode | None:
    """The rows with the conditions pushed into their scan; None if nothing changes."""
    if isinstance(rows, TableScan):
        return _scan(rows, parts)
    if isinstance(rows, Project):
        below = [substituted(part, lambda field: rows.expressions[field.index]) for part in parts]
        pushed = _pushed(rows.input, below)
    elif isinstance(rows, WatermarkAssigner):
        pushed = _pushed(rows.input, parts)
    else:
        return None
    return None if pushed is None else replace(rows, input=pushed)


def _scan(scan: TableScan, parts: Sequence[ResolvedExpression]) -> RelNode | None:
    names = scan.row_type.names
    keys = {names.index(name) for name in scan.table.partition_keys if name in names}
    wanted = [
        part
        for part in parts
        if fields_of(part) and keys.issuperset(fields_of(part)) and _pure(part)
    ]
    if not wanted:
        return None
    known = [] if scan.pushed_filter is None else conjuncts(scan.pushed_filter)
    return replace(scan, pushed_filter=conjunction([*known, *wanted]))


def _pure(expression: ResolvedExpression) -> bool:
    if isinstance(expression.output_type, LocalZonedTimestampType):
        return False  # what it is as text depends on the session's time zone
    if isinstance(expression, Call) and expression.function not in _PURE:
        return False
    if not isinstance(expression, (Call, Cast, FieldReference, ValueLiteral)):
        return False
    return all(map(_pure, expression.children()))
