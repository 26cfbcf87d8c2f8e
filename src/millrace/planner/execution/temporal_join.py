"""Joins with FOR SYSTEM_TIME AS OF event time: with a row's version as of the left row's time.

Versions come from a table with a primary key and a watermark, or from a view that keeps the last
row of each key by event time. Flink: ``TemporalJoin``.
"""

from __future__ import annotations

from functools import partial

from millrace.common.types.logical.logical_type import BooleanType
from millrace.expressions import built_in
from millrace.expressions.resolved import Call, FieldReference, ResolvedExpression
from millrace.expressions.session_settings import SessionSettings
from millrace.job_graph.transformation import Transformation
from millrace.planner.execution.state_signature import StateSignature
from millrace.planner.execution.translation import Translator
from millrace.planner.inference.time_attributes import time_attributes
from millrace.planner.inference.upsert_keys import upsert_keys
from millrace.planner.relational.rel_node import Join, JoinKind, Project, RelNode
from millrace.planner.relational.rewriting import conjunction, moved
from millrace.planner.relational.snapshots import SnapshotSide
from millrace.planner.relational.stream_rel_nodes import (
    ChangelogNormalize,
    Deduplicate,
    TimeAttribute,
)
from millrace.table_runtime.temporal_join import TemporalJoinOperator, TemporalJoinSpec

__all__ = ["joined_with_versions", "temporal_join", "versions_of", "with_columns"]


def temporal_join(
    node: Join, side: SnapshotSide, time: int, translator: Translator
) -> Transformation:
    """The operator of a temporal join; rows of both sides go to the subtask of the primary key.

    Args:
        time: position of the left row's time.

    Raises:
        UnsupportedQueryError: the right side has no versions, or the join does not name its key.
    """
    side, keys, version_time = versions_of(node, side)
    return joined_with_versions(node, side, keys, (time, version_time), translator)


def joined_with_versions(
    node: Join,
    side: SnapshotSide,
    keys: tuple[int, ...],
    times: tuple[int, int] | None,
    translator: Translator,
) -> Transformation:
    """The operator that joins left rows with versions of the right side.

    Args:
        keys: positions of the columns that tell whose version a row of the side is.
        times: positions of the event times of both rows; None for processing time.

    Raises:
        UnsupportedQueryError: the join does not name the keys.
    """
    equal, others = side.equalities(node)
    missing = [side.rows.row_type.names[key] for key in keys if key not in equal]
    if missing:
        raise node.refusal(
            "Temporal Table Join requires primary key in versioned table, and the join condition "
            f"must have an equality for each of its columns: {', '.join(missing)} lacks one of a "
            "column with the same type"
        )
    width = len(node.left.row_type)
    left, left_keys = with_columns(node.left, [equal[key] for key in keys])
    residual = [*others, *_again(side, equal, keys, width)]
    there = conjunction(side.conditions)
    fields = [*side.columns, there]
    fields += [] if times is None else [side.rows.field(times[1])]
    first_key = len(fields)
    fields += [side.rows.field(key) for key in keys]
    right = Project(side.rows, tuple(fields), tuple(f"f{index}" for index in range(len(fields))))
    count = len(side.columns)
    flag = FieldReference(width + count, BooleanType(), "there")
    residual += [flag] if side.conditions else []
    condition = conjunction(residual) if residual else None
    spec = TemporalJoinSpec(
        (left.row_type, right.row_type),
        (left_keys, tuple(range(first_key, first_key + len(keys)))),
        None if times is None else (times[0], count + 1),
        (width, count),
        condition,
        node.kind is JoinKind.LEFT,
        node.row_type,
        translator.state_ttl(),
    )
    return translator.stateful(
        "TemporalJoin",
        partial(TemporalJoinOperator, spec, translator.settings.session or SessionSettings()),
        [translator.keyed(left, spec.keys[0], 0), translator.keyed(right, spec.keys[1], 1)],
        signature=state_signature(left, right, spec, translator),
        description=f"TemporalJoin(joinType=[{node.kind.value}], where=[{node.condition}])",
    )


def state_signature(
    left: RelNode, right: RelNode, spec: TemporalJoinSpec, translator: Translator
) -> StateSignature:
    """Signature of the state: waiting rows of the left side, and versions of the right side, by
    key."""
    rows, versions = (translator.provenance(translator.input(side)) for side in (left, right))
    times = None
    if spec.times is not None:
        times = (rows.columns[spec.times[0]], versions.columns[spec.times[1]])
    pairs = rows.with_columns(rows.columns[: spec.shown[0]]).beside(versions)
    return StateSignature.of(
        rows,
        versions,
        padded=spec.padded,
        kept=(rows.columns, versions.columns),
        keys=(rows.at(spec.keys[0]), versions.at(spec.keys[1])),
        times=times,
        condition=pairs.expression(spec.condition),
    )


def versions_of(node: Join, side: SnapshotSide) -> tuple[SnapshotSide, tuple[int, ...], int]:
    """The version rows of a join's side, their primary key and their time.

    Raises:
        UnsupportedQueryError: the rows have no primary key or no event time.
    """
    side = side.lowest()
    rows = side.rows
    # what nets the changes of an epoch would lose versions: the join itself keeps them by key
    if isinstance(rows, Deduplicate) and rows.rowtime and rows.keep_last and rows.window is None:
        return side.over(rows.input).computed_by(rows.keys), rows.keys, rows.time
    if isinstance(rows, ChangelogNormalize):
        keys = rows.keys
        side = side.over(rows.input)
    else:
        keys = min((tuple(sorted(key)) for key in upsert_keys(rows)), key=len, default=())
    times = [
        index for index, kind in time_attributes(side.rows).items() if kind is TimeAttribute.ROWTIME
    ]
    if not keys or not times:
        what = "primary key" if not keys else "row time attribute"
        raise node.refusal(
            "Event-Time Temporal Table Join requires both primary key and row time attribute in "
            f"versioned table, but no {what} can be found: declare PRIMARY KEY (...) NOT ENFORCED "
            "and WATERMARK, or join a view of the last row per key by ROW_NUMBER"
        )
    return side, keys, times[0]


def _again(
    side: SnapshotSide, equal: dict[int, ResolvedExpression], keys: tuple[int, ...], width: int
) -> list[ResolvedExpression]:
    """Equalities of the join that concern columns outside the primary key, as conditions to
    check for each pair."""
    places = {
        column.index: width + place
        for place, column in enumerate(side.columns)
        if isinstance(column, FieldReference)
    }
    made: list[ResolvedExpression] = []
    for key, left in equal.items():
        if key not in keys:
            column = side.rows.field(key)
            made.append(Call(built_in.EQUALS, (left, moved(column, places)), BooleanType()))
    return made


def with_columns(
    rows: RelNode, expressions: list[ResolvedExpression]
) -> tuple[RelNode, tuple[int, ...]]:
    """The rows with expressions appended as columns, and the position of each expression's column.
    Expressions that are columns already are not appended.
    """
    width = len(rows.row_type)
    added = [expression for expression in expressions if not isinstance(expression, FieldReference)]
    places = tuple(
        expression.index
        if isinstance(expression, FieldReference)
        else width + added.index(expression)
        for expression in expressions
    )
    if not added:
        return rows, places
    fields = (*(rows.field(index) for index in range(width)), *added)
    names = (*rows.row_type.names, *(f"$key_{number}" for number in range(len(added))))
    return Project(rows, fields, names), places
