"""Adds a `ChangelogNormalize` above tables whose source does not emit full changelogs.

Flink docs: "Upsert Kafka", and ``table.exec.source.cdc-events-duplicate``; Flink:
``StreamPhysicalTableSourceScanRule``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from millrace.common.types.row import INSERT_ONLY, RowKind
from millrace.planner.relational.changelog import FromChangelog
from millrace.planner.relational.rel_node import Project, RelNode, TableScan
from millrace.planner.relational.rewriting import bottom_up
from millrace.planner.relational.stream_rel_nodes import ChangelogNormalize, WatermarkAssigner

__all__ = ["SourceChangelogs", "with_normalized_changes"]


@dataclass(frozen=True)
class SourceChangelogs:
    """Options for the changelogs of sources.

    Attributes:
        duplicates: whether full changelogs may tell a change more than once.
        batch: whether the query runs in batch mode, whose sources only insert.
    """

    duplicates: bool = False
    batch: bool = False


def with_normalized_changes(rows: RelNode, changelogs: SourceChangelogs) -> RelNode:
    """The tree in which every changelog contains the row before each update.

    Raises:
        UnsupportedQueryError: a table lacks the primary key that this takes, or there are
            changes in batch mode.
    """

    def changed(node: RelNode) -> RelNode:
        if isinstance(node, TableScan) and _is_normalized(node, changelogs):
            return _normalized(node, node)
        if isinstance(node, WatermarkAssigner):
            return _lifted(node)
        if isinstance(node, FromChangelog) and changelogs.batch and node.changes - INSERT_ONLY:
            kinds = ", ".join(str(kind) for kind in RowKind if kind in node.changes)
            raise node.refusal(
                f"FROM_CHANGELOG gives {kinds}, and in batch mode there are only rows that are "
                "inserted: use a streaming environment, or map all codes to INSERT"
            )
        return node

    return bottom_up(rows, changed)


def _is_normalized(scan: TableScan, changelogs: SourceChangelogs) -> bool:
    table = scan.table
    if not table.changes - INSERT_ONLY:
        return False
    name = ".".join(table.path)
    if changelogs.batch:
        kinds = ", ".join(str(kind) for kind in RowKind if kind in table.changes)
        raise scan.refusal(
            "Querying a table in batch mode is currently only possible for INSERT-only table "
            f"sources, but the source of table {name} gives {kinds}: use a streaming environment"
        )
    whole = RowKind.UPDATE_BEFORE in table.changes and not changelogs.duplicates
    if not whole and not table.primary_key:
        raise scan.refusal(
            f"table {name} has rows that replace earlier rows: declare the columns that identify "
            "a row as PRIMARY KEY (...) NOT ENFORCED"
        )
    return not whole


def _normalized(rows: RelNode, scan: TableScan) -> RelNode:
    names = rows.row_type.names
    return ChangelogNormalize(rows, tuple(names.index(name) for name in scan.table.primary_key))


def _lifted(node: WatermarkAssigner) -> RelNode:
    """Move the `ChangelogNormalize` above the watermark, which belongs to the source."""
    scan, projections = node.input, []
    while isinstance(scan, Project):
        projections.append(scan)
        scan = scan.input
    if not isinstance(scan, ChangelogNormalize) or not isinstance(scan.input, TableScan):
        return node
    below: RelNode = scan.input
    for projection in reversed(projections):
        below = replace(projection, input=below)
    return _normalized(replace(node, input=below), scan.input)
