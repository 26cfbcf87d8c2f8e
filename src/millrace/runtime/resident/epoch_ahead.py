"""Epoch that a subtask begins before the driver's plan for it arrives (docs/decisions, "Subtasks
begin the next epoch before its plan arrives")."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from millrace.runtime.epoch import Ack, EpochPlan, LiveStart, SubtaskPlan

__all__ = ["EndedEpoch", "EpochAhead", "ended_epoch", "plan_after"]


@dataclass(frozen=True)
class EndedEpoch:
    """Epoch that a subtask has acknowledged, and after which it may run ahead."""

    plan: EpochPlan
    version: str
    """Version of the subtask's state."""
    positions: dict[str, Any]
    """Position of each split, by its id."""


@dataclass
class EpochAhead:
    """Progress of a subtask with an epoch that begins before its plan arrives."""

    is_open: bool = False
    """Whether the open epoch has begun before its plan."""
    last: EndedEpoch | None = None
    """The last epoch. None if the next one must wait for the driver's plan."""
    failure: Ack | None = None
    """Failure of the open epoch, while its plan has not arrived."""


def ended_epoch(plan: EpochPlan, ack: Ack) -> EndedEpoch | None:
    """Acknowledged epoch after which a subtask may run ahead. None if the driver has to answer the
    acknowledgement before: to the end of the input or of a split, to a committable, or to a request
    or event of a reader.

    Args:
        plan: plan of the epoch that has ended.
    """
    reading, committing = ack.reading, ack.committing
    is_asked = reading.split_requests or reading.source_events
    commits = committing.committables or committing.uncommitted
    ends = ack.progress.ended or any(split.finished or split.at_end for split in reading.splits)
    if is_asked or commits or ends:
        return None
    positions = {split.split_id: split.position for split in reading.splits}
    return EndedEpoch(plan, ack.state.version, positions)


def plan_after(last: EndedEpoch, place: tuple[int, int], now: int) -> EpochPlan:
    """Plan of the next epoch for one subtask, as the driver will make it unless something comes up.

    Args:
        now: processing time in ms since the epoch.
    """
    before = last.plan.subtasks[place]
    splits = tuple(
        replace(split, position=last.positions[split.split.split_id]) for split in before.splits
    )
    start, limit = LiveStart(last.version), before.max_watermark
    part = SubtaskPlan(start, splits, before.no_more_splits, max_watermark=limit)
    return replace(
        last.plan,
        epoch=last.plan.epoch + 1,
        attempt=0,
        now=now,
        subtasks={place: part},
        completed_checkpoint=None,
        divide={},
        messages={},
    )
