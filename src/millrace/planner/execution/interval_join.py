"""Joins of rows whose times lie within an interval. Flink: ``IntervalJoin``."""

from __future__ import annotations

from functools import partial

from millrace.expressions.session_settings import SessionSettings
from millrace.plan.transformation import Transformation
from millrace.planner.execution.join_spec import join_spec, state_signature
from millrace.planner.execution.translation import Translator
from millrace.planner.inference.interval_bounds import IntervalBounds
from millrace.planner.relational.rel_node import Join
from millrace.table_runtime.time_interval_join import TimeIntervalJoinOperator, TimeIntervalJoinSpec

__all__ = ["interval_join"]


def interval_join(node: Join, bounds: IntervalBounds, translator: Translator) -> Transformation:
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
