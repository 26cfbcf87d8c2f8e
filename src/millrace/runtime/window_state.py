"""Tables of windows. Each kind of window operator has its own."""

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
    """Raise an error if the state has windows that would never fire, because they are not in the
    table ``own``. ``merging`` says whether windows merge and therefore have a window set in another
    table.

    Raises:
        CheckpointError: the state has such windows, because an older version of the job wrote it.
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
    """Error about a checkpoint whose windows the operator cannot continue."""
    return CheckpointError(
        f"the checkpoint has windows of operator '{operator}' that the job can no longer read, "
        "because their assigner, aggregation, trigger, evictor, allowed lateness or sharing of "
        "panes was changed. Undo that change, or start without --resume"
    )
