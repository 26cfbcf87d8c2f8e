"""`upsert_keys`: column sets by which a node's rows are unique at every moment.

Flink: ``FlinkRelMdUniqueKeys`` and ``FlinkRelMdUpsertKeys``.
"""

from __future__ import annotations

from collections.abc import Iterable

from millrace.expressions.resolved import FieldReference
from millrace.planner.relational.model_predict import ModelPredict
from millrace.planner.relational.rel_node import (
    Aggregate,
    Filter,
    Join,
    JoinKind,
    Project,
    RelNode,
    SetOperation,
    Sort,
    TableScan,
)
from millrace.planner.relational.stream_rel_nodes import (
    ChangelogNormalize,
    Deduplicate,
    Rank,
    RankKind,
    WatermarkAssigner,
    WindowAggregate,
)

__all__ = ["UpsertKeys", "upsert_keys"]

UpsertKeys = frozenset[frozenset[int]]
NONE: UpsertKeys = frozenset()


def upsert_keys(node: RelNode) -> UpsertKeys:
    """The upsert keys of a node as sets of positions; the empty key if there is at most one row."""
    if isinstance(node, TableScan):
        names = node.row_type.names
        key = node.table.primary_key
        return _one(names.index(name) for name in key) if key and set(key) <= set(names) else NONE
    if isinstance(node, ChangelogNormalize):
        return _one(node.keys)
    if isinstance(node, Project):
        return _of_project(node)
    if isinstance(node, Filter | WatermarkAssigner | Sort | ModelPredict):
        return upsert_keys(node.input)
    if isinstance(node, Aggregate):
        return NONE if node.grouping_sets is not None else _one(range(len(node.groups)))
    if isinstance(node, WindowAggregate):
        first = len(node.groups) + len(node.calls)
        ends = [
            i
            for i, property_kind in enumerate(node.property_kinds)
            if property_kind in ("start", "end")
        ]
        keys = (*range(len(node.groups)), *(first + end for end in ends[:1]))
        return _one(keys) if ends else NONE
    if isinstance(node, Deduplicate):
        return _one(node.keys) | upsert_keys(node.input)
    if isinstance(node, Rank):
        return _of_rank(node)
    if isinstance(node, Join):
        return _of_join(node)
    if isinstance(node, SetOperation) and not node.all:
        return _one(range(len(node.row_type)))
    return NONE


def _one(columns: Iterable[int]) -> UpsertKeys:
    return frozenset({frozenset(columns)})


def _of_project(node: Project) -> UpsertKeys:
    places: dict[int, int] = {}
    for index, expression in enumerate(node.expressions):
        if isinstance(expression, FieldReference):
            places.setdefault(expression.index, index)
    return frozenset(
        frozenset(places[index] for index in key)
        for key in upsert_keys(node.input)
        if key <= places.keys()
    )


def _of_rank(node: Rank) -> UpsertKeys:
    # a row that moves to another partition leaves in one subtask and comes in another one
    keys = frozenset(key for key in upsert_keys(node.input) if key.issuperset(node.partition))
    if node.rank_kind is RankKind.ROW_NUMBER:
        if node.start == node.end:
            keys |= _one(node.partition)
        if node.rank_name is not None:
            keys |= _one((*node.partition, len(node.input.row_type)))
    return keys


def _of_join(node: Join) -> UpsertKeys:
    left = upsert_keys(node.left)
    if node.kind in (JoinKind.SEMI, JoinKind.ANTI):
        return left
    if node.lateral:
        return NONE
    width = len(node.left.row_type)
    right = upsert_keys(node.right)
    # a row is a pair: of the side that may be missing a null stands for its key
    return frozenset(one | {width + index for index in two} for one in left for two in right)
