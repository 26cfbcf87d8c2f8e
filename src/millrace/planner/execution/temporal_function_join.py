"""Joins with a temporal table function: with a row's version as of the left row's time or, in
processing time, with the latest version.

Flink docs: "Temporal Table Function Join"; Flink: ``StreamExecTemporalJoin``.
"""

from __future__ import annotations

from dataclasses import replace

from millrace.expressions.resolved import FieldReference, OuterReference
from millrace.job_graph.transformation import Transformation
from millrace.planner.execution.temporal_join import joined_with_versions, versions_of
from millrace.planner.execution.translation import Translator
from millrace.planner.inference.time_attributes import time_attributes
from millrace.planner.relational.rel_node import Join, JoinKind
from millrace.planner.relational.snapshots import SnapshotSide
from millrace.planner.relational.stream_rel_nodes import (
    ChangelogNormalize,
    Deduplicate,
    LogicalSnapshot,
    TimeAttribute,
    VersionColumns,
)

__all__ = ["temporal_function_join"]

_NAMES = {TimeAttribute.ROWTIME: "rowtime", TimeAttribute.PROCTIME: "processing"}


def temporal_function_join(
    node: Join, side: SnapshotSide, snapshot: LogicalSnapshot, translator: Translator
) -> Transformation:
    """The operator of the join; rows of both sides go to the subtask of the function's key.

    Raises:
        UnsupportedQueryError: it is an outer join, the times are of two kinds, or the condition
            lacks an equality of the key.
    """
    if node.kind is not JoinKind.INNER:
        raise node.refusal(
            "Temporal table function join currently only support INNER JOIN, but was "
            f"{node.kind.value} JOIN: a left row without a version is dropped; to keep it, join a "
            "table or view with a primary key FOR SYSTEM_TIME AS OF the time"
        )
    versions, period = snapshot.versions, snapshot.period
    assert versions is not None
    assert isinstance(period, OuterReference)
    kind = time_attributes(side.rows)[versions.time]
    if time_attributes(node.left).get(period.index) is not kind:
        raise node.refusal(
            f"Non {_NAMES[kind]} timeAttribute [{node.left.row_type.names[period.index]}] passed "
            f"as the argument to TemporalTableFunction {snapshot.name}, which was made with one"
        )
    if kind is TimeAttribute.ROWTIME:
        side, key, time = _versions(node, side, versions)
        return joined_with_versions(node, side, (key,), (period.index, time), translator)
    if translator.settings.batch:
        raise node.refusal(
            f"the temporal table function {snapshot.name} uses processing time, which rows do not "
            "have in batch mode: make it with an event time, or use a streaming environment"
        )
    return joined_with_versions(node, side, (versions.key,), None, translator)


def _versions(
    node: Join, side: SnapshotSide, versions: VersionColumns
) -> tuple[SnapshotSide, int, int]:
    """The version rows, and the positions of their key and time. The input of a Deduplicate or
    ChangelogNormalize on the same key is read directly, since the node would merge the versions
    of an epoch."""
    marks = (side.rows.field(versions.key), side.rows.field(versions.time))
    low = replace(side, columns=(*side.columns, *marks)).lowest()
    *columns, key, time = low.columns
    netting = isinstance(low.rows, Deduplicate | ChangelogNormalize)
    if netting and isinstance(key, FieldReference) and isinstance(time, FieldReference):
        version_side, keys, at = versions_of(node, replace(low, columns=tuple(columns)))
        if keys == (key.index,) and at == time.index:
            return version_side, key.index, at
    return side, versions.key, versions.time
