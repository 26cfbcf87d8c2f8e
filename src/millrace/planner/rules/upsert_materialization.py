"""Keeps the changes of each key in order for sinks with a primary key.

Where a query's rows are not unique by that key, or rows of one key come from several subtasks, a
row could be deleted after the one that replaces it was written. Flink docs:
``table.exec.sink.upsert-materialize``; Flink: ``StreamPhysicalSinkRule``.
"""

from __future__ import annotations

from dataclasses import replace

from millrace.common.types.row import RowKind
from millrace.planner.inference.changelog_mode import ChangelogModes
from millrace.planner.inference.upsert_keys import upsert_keys
from millrace.planner.relational.rel_node import Join, RelNode
from millrace.planner.relational.sink_nodes import LogicalSink
from millrace.planner.relational.stream_rel_nodes import UpsertMaterialize

__all__ = ["with_upsert_materialization"]


def with_upsert_materialization(root: RelNode, option: str) -> RelNode:
    """The tree in which a sink with a primary key gets the last row of each key.

    Args:
        option: AUTO, FORCE or NONE.
    """
    if not isinstance(root, LogicalSink) or option == "NONE":
        return root
    table = root.table
    takes_upserts = (
        RowKind.UPDATE_AFTER in table.accepts and RowKind.UPDATE_BEFORE not in table.accepts
    )
    if not table.primary_key or not takes_upserts or ChangelogModes([root]).insert_only(root.input):
        return root
    key = table.sink_key
    if option == "AUTO" and _in_order(root.input, frozenset(key)):
        return root
    return replace(root, input=UpsertMaterialize(root.input, key))


def _in_order(rows: RelNode, key: frozenset[int]) -> bool:
    """Whether the changes of a key arrive in order and concern a single row."""
    # a join gives the rows of a key from wherever the values are that it joins by
    return any(known <= key for known in upsert_keys(rows)) and not _joins(rows)


def _joins(rows: RelNode) -> bool:
    return isinstance(rows, Join) or any(map(_joins, rows.inputs))
