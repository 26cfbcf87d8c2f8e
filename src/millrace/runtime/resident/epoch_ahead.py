"""Epoch that a subtask begins before the driver's plan for it arrives (docs/decisions, "Subtasks
begin the next epoch before its plan arrives")."""

from __future__ import annotations

from dataclasses import dataclass, replace

from millrace.runtime.epoch import Ack, EpochPlan, LiveStart, SubtaskPlan

__all__ = ["Answered", "EpochAhead", "plan_after"]


@dataclass(frozen=True)
class Answered:
    """Epoch that a subtask has acknowledged."""

    plan: EpochPlan
    ack: Ack


@dataclass
class EpochAhead:
    """Progress of a subtask with an epoch that begins before its plan arrives."""

    is_open: bool = False
    """Whether the open epoch has begun before its plan."""
    answered: Answered | None = None
    """The last epoch, while the next one may begin. None if it must wait for the driver's plan."""
    failure: Ack | None = None
    """Failure of the open epoch, while its plan has not arrived."""


def plan_after(plan: EpochPlan, place: tuple[int, int], ack: Ack, now: int) -> EpochPlan | None:
    """Plan of the next epoch for one subtask, as the driver will make it unless something comes up.

    None if the driver has to answer the acknowledgement before: to the end of the input or of a
    split, to a committable, or to a request or event of a reader.

    Args:
        plan: plan of the epoch that has ended.
        now: processing time in ms since the epoch.
    """
    reading, committing = ack.reading, ack.committing
    is_asked = reading.split_requests or reading.source_events
    commits = committing.committables or committing.uncommitted
    ends = ack.progress.ended or any(split.finished or split.at_end for split in reading.splits)
    if is_asked or commits or ends:
        return None
    before = plan.subtasks[place]
    at = {split.split_id: split.position for split in reading.splits}
    splits = tuple(replace(split, position=at[split.split.split_id]) for split in before.splits)
    start = LiveStart(ack.state.version)
    limit = before.max_watermark
    part = SubtaskPlan(start, splits, before.no_more_splits, max_watermark=limit)
    return replace(
        plan,
        epoch=plan.epoch + 1,
        attempt=0,
        now=now,
        subtasks={place: part},
        completed_checkpoint=None,
        divide={},
        messages={},
    )
