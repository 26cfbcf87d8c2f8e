"""The running epoch of resident tasks, as the driver knows it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from millrace.runtime.epoch import Ack, EpochPlan, SubtaskPlan
from millrace.runtime.resident.control import News

__all__ = ["OpenEpoch", "part_of"]


@dataclass
class OpenEpoch:
    """The running epoch."""

    plan: EpochPlan
    expected: int
    began: int
    """Time of the barrier before, in ms since the epoch: intervals are from barrier to barrier."""
    acks: list[Ack] = field(default_factory=list)
    news: set[News] = field(default_factory=set)
    exhausted: set[int] = field(default_factory=set)
    """Tasks without more input."""
    looks_from: int = 0
    """Earliest time of the next look for splits, in ms since the epoch of Unix."""
    has_splits: bool = False
    """Whether there are splits or events for the next epoch."""
    is_closing: bool = False
    """Whether the barrier has been sent."""

    def is_of(self, plan: EpochPlan) -> bool:
        """Whether this is the epoch of a plan, and the same attempt."""
        return (self.plan.epoch, self.plan.attempt) == (plan.epoch, plan.attempt)

    @property
    def has_failed(self) -> bool:
        """Whether a subtask has failed."""
        return any(ack.failure is not None for ack in self.acks)


def part_of(plan: EpochPlan, task: int, width: int) -> EpochPlan:
    """Part of a plan for the subtasks of one task."""
    part: dict[tuple[int, int], SubtaskPlan] = {
        place: subtask for place, subtask in plan.subtasks.items() if place[1] % width == task
    }
    return replace(plan, subtasks=part)
