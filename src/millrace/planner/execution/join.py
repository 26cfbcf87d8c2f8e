"""Joins of two inputs: regular joins, window joins and interval joins.

Flink: ``Join``, ``WindowJoin``, ``IntervalJoin``.
"""

from __future__ import annotations

from functools import partial

from millrace.expressions import built_in
from millrace.expressions.resolved import Call, OuterReference, ResolvedExpression
from millrace.expressions.session_settings import SessionSettings
from millrace.job_graph.transformation import Transformation
from millrace.planner.execution.correlate import correlate
from millrace.planner.execution.lookup_join import lookup_join
from millrace.planner.execution.state_signature import StateSignature, clock_identity
from millrace.planner.execution.temporal_function_join import temporal_function_join
from millrace.planner.execution.temporal_join import temporal_join
from millrace.planner.execution.translation import Translator, translates
from millrace.planner.execution.window_clock import clock_of
from millrace.planner.inference.interval_bounds import IntervalBounds
from millrace.planner.inference.time_attributes import interval_of, time_attributes
from millrace.planner.relational.join_conditions import join_condition
from millrace.planner.relational.rel_node import Join, JoinKind
from millrace.planner.relational.snapshots import snapshot_side
from millrace.planner.relational.stream_rel_nodes import TimeAttribute
from millrace.planner.relational.windows import WindowJoinColumns, window_join_columns
from millrace.planner.rules.table_functions import function_rows
from millrace.table_runtime.join_pairs import JoinSpec
from millrace.table_runtime.streaming_join import StreamingJoinOperator, StreamingJoinSpec
from millrace.table_runtime.time_interval_join import TimeIntervalJoinOperator, TimeIntervalJoinSpec
from millrace.table_runtime.window_join import WindowJoinOperator, WindowJoinSpec

__all__ = ["translate_join"]


@translates(Join)
def translate_join(node: Join, translator: Translator) -> Transformation:
    """The operator of a join; rows of both sides go to the subtask of their key, or all to one
    without a key."""
    kind = node.kind
    function = function_rows(node.right, len(node.left.row_type)) if node.lateral else None
    if function is not None:
        return correlate(node, *function, translator)
    if node.lateral:
        return _lateral(node, translator)
    if not translator.settings.batch:  # there no row waits for time
        windows, bounds = window_join_columns(node), interval_of(node)
        if windows is not None:
            return _window_join(node, windows, translator)
        if bounds is not None:
            return _interval_join(node, bounds, translator)
    join = join_spec(node)
    left, right = join.keys
    spec = StreamingJoinSpec(
        join.types,
        join.keys,
        join.condition,
        join.padded,
        join.pairs,
        join.matched,
        join.output_type,
        batch=translator.settings.batch,
        state_ttl=(
            translator.state_ttl(node.state_ttl[0]),
            translator.state_ttl(node.state_ttl[1]),
        ),
    )
    return translator.stateful(
        "Join",
        partial(StreamingJoinOperator, spec, translator.settings.session or SessionSettings()),
        [translator.keyed(node.left, left, 0), translator.keyed(node.right, right, 1)],
        signature=state_signature(node, join, translator),
        description=f"Join(joinType=[{kind.value}], where=[{node.condition}])",
    )


def _lateral(node: Join, translator: Translator) -> Transformation:
    """The operator of a temporal or look-up join. A time attribute in event time needs versions
    of the right rows; processing time needs their current state."""
    side_and_snapshot = snapshot_side(node)
    if side_and_snapshot is None:
        raise node.refusal(
            "the query behind LATERAL refers to the tables before it in a way that cannot be "
            "converted to a join: write it as a join"
        )
    side, snapshot = side_and_snapshot
    if snapshot.versions is not None:
        return temporal_function_join(node, side, snapshot, translator)
    if node.kind not in (JoinKind.INNER, JoinKind.LEFT):
        raise node.refusal(
            f"Temporal table join only supports INNER JOIN and LEFT JOIN, not {node.kind.value}"
        )
    period = snapshot.period
    kind = None
    if isinstance(period, OuterReference):
        kind = time_attributes(node.left).get(period.index)
        if kind is TimeAttribute.ROWTIME:
            return temporal_join(node, side, period.index, translator)
    elif isinstance(period, Call) and period.function is built_in.PROCTIME:
        kind = TimeAttribute.PROCTIME
    if kind is None:
        raise node.refusal(
            "Temporal table join currently only supports 'FOR SYSTEM_TIME AS OF' left table's time "
            "attribute field, and this is not one",
            snapshot.place,
        )
    return lookup_join(node, side, snapshot.name, translator)


def _window_join(node: Join, windows: WindowJoinColumns, translator: Translator) -> Transformation:
    """The operator of a window join; rows of both sides go to the subtask of their key and
    window."""
    join = join_spec(node)
    left, right = join.keys
    ends = (min(windows.left.end), min(windows.right.end))
    clock = clock_of(windows.left.window, translator)
    return translator.stateful(
        "WindowJoin",
        partial(
            WindowJoinOperator,
            WindowJoinSpec(join, ends, clock),
            translator.settings.session or SessionSettings(),
        ),
        [translator.keyed(node.left, left, 0), translator.keyed(node.right, right, 1)],
        signature=state_signature(node, join, translator, clock=clock_identity(clock)),
        description=(
            f"WindowJoin(joinType=[{node.kind.value}], "
            f"window=[{windows.left.window.kind.value}(size=[{windows.left.window.size} ms])], "
            f"where=[{node.condition}])"
        ),
    )


def _interval_join(node: Join, bounds: IntervalBounds, translator: Translator) -> Transformation:
    """The operator of an interval join; rows of both sides go to the subtask of their key, or
    all to one without a key."""
    join = join_spec(node, bounds.parts)
    spec = TimeIntervalJoinSpec(
        join, (bounds.left, bounds.right), bounds.lower, bounds.upper, bounds.rowtime
    )
    left, right = join.keys
    return translator.stateful(
        "IntervalJoin",
        partial(TimeIntervalJoinOperator, spec, translator.settings.session or SessionSettings()),
        [translator.keyed(node.left, left, 0), translator.keyed(node.right, right, 1)],
        signature=state_signature(
            node,
            join,
            translator,
            bounds=(bounds.left, bounds.right, bounds.lower, bounds.upper, bounds.rowtime),
        ),
        description=(
            f"IntervalJoin(joinType=[{node.kind.value}], windowBounds=[isRowTime={bounds.rowtime}, "
            f"leftLowerBound={bounds.lower}, leftUpperBound={bounds.upper}, "
            f"leftTimeIndex={bounds.left}, rightTimeIndex={bounds.right}], "
            f"where=[{node.condition}])"
        ),
    )


def join_spec(node: Join, without: tuple[ResolvedExpression, ...] = ()) -> JoinSpec:
    """The spec shared by all join operators; ``without`` are conditions that the operator gets
    in another way."""
    condition, kind = join_condition(node), node.kind
    return JoinSpec(
        (node.left.row_type, node.right.row_type),
        (condition.left, condition.right),
        condition.without(without).condition,
        (kind in (JoinKind.LEFT, JoinKind.FULL), kind in (JoinKind.RIGHT, JoinKind.FULL)),
        pairs=kind not in (JoinKind.SEMI, JoinKind.ANTI),
        matched=kind is JoinKind.SEMI,
        output_type=node.row_type,
    )


def state_signature(
    node: Join, join: JoinSpec, translator: Translator, **parts: object
) -> StateSignature:
    """Signature of the state: rows of both sides by key, with their matches on the other side.

    Args:
        parts: parts of the query, besides the condition, that decide which rows are kept and how
            long.
    """
    left, right = (translator.provenance(translator.input(child)) for child in node.inputs)
    pairs = left.beside(right)
    return StateSignature.of(
        left,
        right,
        kind=node.kind,
        kept=(left.columns, right.columns),
        keys=(left.at(join.keys[0]), right.at(join.keys[1])),
        condition=pairs.expression(join.condition),
        **parts,
    )
