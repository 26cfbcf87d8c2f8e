"""Joins of rows in the same window. Flink: ``WindowJoin``."""

from __future__ import annotations

from functools import partial

from millrace.expressions.session_settings import SessionSettings
from millrace.plan.transformation import Transformation
from millrace.planner.execution.join_spec import join_spec, state_signature
from millrace.planner.execution.state_signature import clock_identity
from millrace.planner.execution.translation import Translator
from millrace.planner.execution.window_clock import clock_of
from millrace.planner.relational.rel_node import Join
from millrace.planner.relational.windows import WindowJoinColumns
from millrace.table_runtime.window_join import WindowJoinOperator, WindowJoinSpec

__all__ = ["window_join"]


def window_join(node: Join, windows: WindowJoinColumns, translator: Translator) -> Transformation:
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
