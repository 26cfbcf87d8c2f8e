"""The tables that windows are kept in: each kind of window operator has its own."""

from __future__ import annotations

from millrace.common.errors import CheckpointError
from millrace.runtime.operator import OperatorContext
from millrace.state.internal_tables import (
    ACCUMULATORS,
    ELEMENTS,
    MERGING,
    PANE_ACCUMULATORS,
    PANE_ELEMENTS,
    SESSIONS,
    SLICE_ACCUMULATORS,
    SLICE_ELEMENTS,
    TIMED_ELEMENTS,
)
from millrace.state.table_id import TableId

__all__ = ["TABLES", "other_windows", "refuse_other_windows"]

TABLES = (
    ACCUMULATORS,
    ELEMENTS,
    PANE_ACCUMULATORS,
    PANE_ELEMENTS,
    SESSIONS,
    SLICE_ACCUMULATORS,
    SLICE_ELEMENTS,
    TIMED_ELEMENTS,
)


def refuse_other_windows(context: OperatorContext, own: str, merging: bool = False) -> None:
    """See to it that no windows are in tables other than ``own``: they would never fire.
    ``merging``: windows merge, and which ones there are is in a table too.

    Raises:
        CheckpointError: the job was changed and goes on from a checkpoint of its old version.
    """
    strange = any(name != own and _holds(context, name) for name in TABLES)
    merged_before = _holds(context, MERGING)
    lost = not merged_before and _holds(context, own) if merging else merged_before
    if strange or lost:
        raise other_windows(context.name)


def _holds(context: OperatorContext, name: str) -> bool:
    table = context.state.tables.get(TableId(context.uid, name))
    return table is not None and table.entry_count() > 0


def other_windows(operator: str) -> CheckpointError:
    """Make the error about a checkpoint with windows that the operator cannot go on with."""
    return CheckpointError(
        f"the checkpoint has windows of operator '{operator}' in a form that the job no longer "
        "keeps them in: their assigner, aggregation, trigger, evictor, allowed lateness or "
        "sharing of panes was changed. Take that back, or start without --resume"
    )
