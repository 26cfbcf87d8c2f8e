"""`time_attributes`: the columns of a node that are event time or processing time.

A time attribute is a column that nothing has been done to: an expression over it is an ordinary
timestamp. Semantics: Flink docs, "Time Attributes"; Flink: ``RelTimeIndicatorConverter``.
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

from millrace.expressions import built_in
from millrace.expressions.pattern_expressions import MatchRowtime
from millrace.expressions.resolved import Call, FieldReference, ResolvedExpression
from millrace.planner.inference.interval_bounds import IntervalBounds, interval_bounds
from millrace.planner.relational.changelog import FromChangelog, ToChangelog
from millrace.planner.relational.model_predict import ModelPredict
from millrace.planner.relational.process_table import ProcessTable
from millrace.planner.relational.rel_node import (
    Aggregate,
    Filter,
    Join,
    Project,
    RelNode,
    SetOperation,
    Sort,
)
from millrace.planner.relational.stream_rel_nodes import (
    ChangelogNormalize,
    Deduplicate,
    LogicalSnapshot,
    Match,
    OverAggregate,
    Rank,
    TimeAttribute,
    WatermarkAssigner,
    WindowAggregate,
    WindowTableFunction,
)
from millrace.planner.relational.windows import window_join_columns

__all__ = [
    "TimeAttributes",
    "interval_of",
    "joins_by_time",
    "ordered_by_time",
    "time_attributes",
]

TimeAttributes = dict[int, TimeAttribute]


def time_attributes(node: RelNode) -> TimeAttributes:
    """Time attributes of a node's columns, by position."""
    attributes = _KNOWN.get(node)
    if attributes is None:
        attributes = _KNOWN[node] = _derived(node)
    return attributes


def ordered_by_time(node: OverAggregate) -> bool:
    """Whether frames are ordered by a time attribute, so that a frame is complete once this time
    has passed."""
    times = time_attributes(node.input)
    return all(group.order and group.order[0].index in times for group in node.over)


_KNOWN: WeakKeyDictionary[RelNode, TimeAttributes] = WeakKeyDictionary()
"""Nodes do not change, and joins ask for their inputs' repeatedly."""


_THROUGH = (
    *(ChangelogNormalize, Filter, Sort, Rank, Deduplicate, OverAggregate, LogicalSnapshot),
    ModelPredict,
)


def _derived(node: RelNode) -> TimeAttributes:
    if isinstance(node, WatermarkAssigner):
        return time_attributes(node.input) | {node.rowtime: TimeAttribute.ROWTIME}
    if isinstance(node, Project):
        return _of_project(node)
    if isinstance(node, _THROUGH):
        return time_attributes(node.input)
    if isinstance(node, WindowTableFunction):
        inner = time_attributes(node.input)
        # window_time is of the kind of the column that was windowed
        kind = inner.get(node.time)
        return inner if kind is None else inner | {len(node.input.row_type) + 2: kind}
    if isinstance(node, WindowAggregate):
        return _of_window_aggregate(node)
    if isinstance(node, ToChangelog | FromChangelog):
        return {} if node.time is None else {len(node.row_type) - 1: TimeAttribute.ROWTIME}
    if isinstance(node, ProcessTable):
        return {len(node.row_type) - 1: TimeAttribute.ROWTIME} if node.is_timed else {}
    if isinstance(node, Aggregate):
        return {}  # a result that changes has no time
    if isinstance(node, Join):
        return _of_join(node)
    if isinstance(node, Match):
        return _of_match(node)
    if isinstance(node, SetOperation):
        shared = time_attributes(node.operands[0])
        for operand in node.operands[1:]:
            others = time_attributes(operand)
            shared = {i: kind for i, kind in shared.items() if others.get(i) is kind}
        return shared
    return {}


def _of_project(node: Project) -> TimeAttributes:
    inner = time_attributes(node.input)
    made: TimeAttributes = {}
    for index, expression in enumerate(node.expressions):
        kind = _of_expression(expression, inner)
        if kind is not None:
            made[index] = kind
    return made


def _of_expression(expression: ResolvedExpression, inner: TimeAttributes) -> TimeAttribute | None:
    if isinstance(expression, FieldReference):
        return inner.get(expression.index)
    if isinstance(expression, Call) and expression.function is built_in.PROCTIME:
        return TimeAttribute.PROCTIME
    return None


def _of_window_aggregate(node: WindowAggregate) -> TimeAttributes:
    inner = time_attributes(node.input)
    source = node.time if node.attached is None else node.attached[2]
    kind = inner.get(source, TimeAttribute.ROWTIME) if source is not None else None
    first = len(node.groups) + len(node.calls)
    return {
        first + place: kind
        for place, property_kind in enumerate(node.property_kinds)
        if property_kind == "time" and kind is not None
    }


def _of_match(node: Match) -> TimeAttributes:
    """Time attributes of a MATCH_RECOGNIZE: MATCH_ROWTIME and MATCH_PROCTIME; columns of the
    input become plain timestamps."""
    made: TimeAttributes = {}
    for index, (_, measure) in enumerate(node.measures, start=len(node.partition)):
        if isinstance(measure, MatchRowtime):
            made[index] = TimeAttribute.ROWTIME
        elif isinstance(measure, Call) and measure.function is built_in.PROCTIME:
            made[index] = TimeAttribute.PROCTIME
    return made


def _of_join(node: Join) -> TimeAttributes:
    """Time attributes of a join: both times of an interval join, window_time of a window join,
    the left side's in temporal and look-up joins; none in a regular join."""
    if node.lateral:
        return time_attributes(node.left)
    both = _of_both(node)
    windows, bounds = window_join_columns(node), interval_of(node)
    if windows is not None:
        times = windows.left.time | windows.right.shifted(len(node.left.row_type)).time
        kept = {index: kind for index, kind in both.items() if index in times}
    elif bounds is not None:
        # rows that wait for the clock are behind the watermark
        none = None if bounds.rowtime else TimeAttribute.ROWTIME
        kept = {index: kind for index, kind in both.items() if kind is not none}
    else:
        return {}
    return {index: kind for index, kind in kept.items() if index < len(node.row_type)}


def _of_both(node: Join) -> TimeAttributes:
    width = len(node.left.row_type)
    right = {width + index: kind for index, kind in time_attributes(node.right).items()}
    return time_attributes(node.left) | right


def joins_by_time(node: Join) -> bool:
    """Whether a join waits for time, so that its rows are final: an interval join or a window
    join."""
    return window_join_columns(node) is not None or interval_of(node) is not None


def interval_of(node: Join) -> IntervalBounds | None:
    """The bounds of an interval join; None for other joins."""
    if node.lateral:
        return None
    return interval_bounds(node.condition, _of_both(node), len(node.left.row_type))
