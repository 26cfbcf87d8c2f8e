"""`ChangelogModes`: the changes that each node emits, and whether its consumers need -U rows.

Semantics: Flink docs, "Dynamic Tables"; Flink: ``FlinkChangelogModeInferenceProgram``.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Flag, auto

from millrace.common.types.row import RowKind
from millrace.expressions.process_table_functions import ArgumentTrait
from millrace.planner.inference.time_attributes import joins_by_time, ordered_by_time
from millrace.planner.inference.upsert_keys import upsert_keys
from millrace.planner.relational.changelog import FromChangelog, ToChangelog
from millrace.planner.relational.model_predict import ModelPredict
from millrace.planner.relational.process_table import ProcessTable
from millrace.planner.relational.rel_node import (
    Aggregate,
    Filter,
    Join,
    JoinKind,
    Project,
    RelNode,
    SetKind,
    SetOperation,
    Sort,
    TableScan,
    Values,
)
from millrace.planner.relational.sink_nodes import LogicalSink
from millrace.planner.relational.stream_rel_nodes import (
    ChangelogNormalize,
    CountWindowAggregate,
    Deduplicate,
    LogicalSnapshot,
    Match,
    OverAggregate,
    Rank,
    UpsertMaterialize,
    WatermarkAssigner,
    WindowAggregate,
    WindowTableFunction,
)

__all__ = ["RowChanges", "ChangelogModes", "changes_of"]


class RowChanges(Flag):
    """Kinds of changes to rows that were inserted."""

    NONE = 0
    UPDATE = auto()
    DELETE = auto()

    def __str__(self) -> str:
        return self.shown(update_before=True)

    def shown(self, update_before: bool) -> str:
        """The changelog mode as Flink's EXPLAIN shows it.

        Args:
            update_before: whether it has the rows before updates.

        >>> (RowChanges.UPDATE | RowChanges.DELETE).shown(update_before=False)
        'I,UA,D'
        """
        kinds = ["I"]
        if RowChanges.UPDATE in self:
            kinds += ["UB", "UA"] if update_before else ["UA"]
        return ",".join([*kinds, "D"] if RowChanges.DELETE in self else kinds)


ALL = RowChanges.UPDATE | RowChanges.DELETE
_THROUGH = (
    *(Project, Filter, WatermarkAssigner, WindowTableFunction, LogicalSnapshot),
    ModelPredict,
)


class ChangelogModes:
    """The changelog modes of the nodes of one job.

    Args:
        roots: the trees that run together.
        streaming: whether results are updated as the input goes on; in batch mode only final
            rows are emitted.
        repeated: the sinks into which a failure may write rows that are not part of the result
            after it: they write by key, and at least once.
    """

    def __init__(
        self,
        roots: Sequence[RelNode],
        streaming: bool = True,
        repeated: Sequence[RelNode] = (),
    ) -> None:
        self._streaming = streaming
        self._changes: dict[RelNode, RowChanges] = {}
        self._needed: dict[RelNode, bool] = {}
        self._repeatable: set[RelNode] = set()
        for root in roots:
            self._need(root, True)
        for root in repeated if streaming else ():
            self._repeat(root)

    def changes(self, node: RelNode) -> RowChanges:
        """Changes that a node emits besides inserts."""
        if not self._streaming:
            return RowChanges.NONE
        changes = self._changes.get(node)
        if changes is None:
            inputs = [self.changes(child) for child in node.inputs]
            changes = self._changes[node] = changes_of(node, inputs)
        return changes

    def insert_only(self, node: RelNode) -> bool:
        """Whether a node's rows are never updated or deleted."""
        return self.changes(node) is RowChanges.NONE

    def emits_update_before(self, node: RelNode) -> bool:
        """Whether a consumer of the node needs -U rows before +U rows."""
        return RowChanges.UPDATE in self.changes(node) and self._needed.get(node, True)

    def repeatable(self, node: RelNode) -> bool:
        """Whether a node's changes must also correct the rows that a lost epoch has written into a
        table. Net changes since the last flush cannot correct them, because the lost epoch may have
        flushed at other places.
        """
        return node in self._repeatable

    def _repeat(self, node: RelNode) -> None:
        if node not in self._repeatable:
            self._repeatable.add(node)
            for child in node.inputs:
                self._repeat(child)

    def _need(self, node: RelNode, needed: bool) -> None:
        known = self._needed.get(node)
        if known is not None and (known or not needed):
            return
        self._needed[node] = needed
        for child in node.inputs:
            self._need(child, _needs_update_before(node, needed))


def _needs_update_before(node: RelNode, needed: bool) -> bool:
    """Whether a node needs -U rows from its inputs, given whether it must emit them itself."""
    if isinstance(node, LogicalSink):
        accepts = node.table.accepts
        return not accepts or RowKind.UPDATE_BEFORE in accepts
    if isinstance(node, Project | WatermarkAssigner | ModelPredict):
        return needed
    if isinstance(node, SetOperation):
        return needed or not (node.kind is SetKind.UNION and node.all)
    if isinstance(node, ProcessTable):
        return _process_needs_update_before(node)
    if isinstance(node, ToChangelog):
        by_key = bool(node.partition) and frozenset(node.partition) in upsert_keys(node.input)
        return not by_key and any(name == "UPDATE_BEFORE" for name, _ in node.codes)
    # a filter, too: the row before the update may have passed it
    return not isinstance(node, ChangelogNormalize)


def _process_needs_update_before(node: ProcessTable) -> bool:
    """Whether a process table function needs -U rows; not if it takes updates by key and is
    partitioned by that key."""
    for rows, table in zip(node.operands, node.tables, strict=True):
        by_key = frozenset(table.partition) in upsert_keys(rows) and bool(table.partition)
        if not by_key or node.asks(table, ArgumentTrait.REQUIRE_UPDATE_BEFORE):
            return True
    return False


def changes_of(node: RelNode, inputs: Sequence[RowChanges]) -> RowChanges:
    """Changes that a node emits besides inserts, given the changes of its inputs."""
    merged = RowChanges.NONE
    for changes in inputs:
        merged |= changes
    if isinstance(node, TableScan | ProcessTable | FromChangelog):
        return _of_kinds(_kinds_of(node))
    if isinstance(node, ToChangelog | Values | WindowAggregate | CountWindowAggregate | Match):
        return RowChanges.NONE
    if isinstance(node, OverAggregate):
        return RowChanges.NONE if ordered_by_time(node) else merged | RowChanges.UPDATE
    if isinstance(node, _THROUGH):
        return merged
    if isinstance(node, ChangelogNormalize | UpsertMaterialize):
        return ALL
    if isinstance(node, Aggregate):
        return _of_aggregate(node, merged)
    if isinstance(node, Rank):
        return RowChanges.NONE if node.window is not None else ALL
    if isinstance(node, Deduplicate):
        kept = node.window is not None or not (node.keep_last or node.rowtime)
        return RowChanges.NONE if kept else ALL if merged else RowChanges.UPDATE
    if isinstance(node, Join):
        # of a function, a look-up or a version: what happens to the left row
        return inputs[0] if node.lateral else _of_join(node, merged)
    if isinstance(node, SetOperation):
        return _of_set_operation(node, merged)
    if isinstance(node, Sort):
        return merged if node.fetch is None and not node.offset else ALL
    return merged


def _kinds_of(node: TableScan | ProcessTable | FromChangelog) -> frozenset[RowKind]:
    if isinstance(node, FromChangelog):
        return node.changes
    return node.table.changes if isinstance(node, TableScan) else node.signature.changes


def _of_kinds(kinds: frozenset[RowKind]) -> RowChanges:
    update = RowChanges.UPDATE if RowKind.UPDATE_AFTER in kinds else RowChanges.NONE
    return update | (RowChanges.DELETE if RowKind.DELETE in kinds else RowChanges.NONE)


def _of_aggregate(node: Aggregate, merged: RowChanges) -> RowChanges:
    if not node.calls:  # DISTINCT
        return RowChanges.DELETE if merged else RowChanges.NONE
    gone = bool(merged) and bool(node.groups)
    return RowChanges.UPDATE | (RowChanges.DELETE if gone else RowChanges.NONE)


def _of_join(node: Join, merged: RowChanges) -> RowChanges:
    if joins_by_time(node):
        return RowChanges.NONE
    if node.kind in (JoinKind.INNER, JoinKind.SEMI):
        return merged
    return merged | RowChanges.DELETE  # the row padded with nulls goes when its partner comes


def _of_set_operation(node: SetOperation, merged: RowChanges) -> RowChanges:
    if node.kind is SetKind.UNION:
        return merged if node.all or not merged else RowChanges.DELETE
    if node.kind is SetKind.INTERSECT:
        return merged and RowChanges.DELETE
    return RowChanges.DELETE
