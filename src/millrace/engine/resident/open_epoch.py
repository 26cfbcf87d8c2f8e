"""The running epoch of resident tasks, as the driver knows it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from millrace.runtime.epoch import Ack, EpochPlan, SubtaskPlan
from millrace.runtime.resident.control import News

__all__ = ["BarrierTimes", "HookError", "OpenEpoch", "part_of"]

REQUEST_DELAY_MS = 5
"""Milliseconds from the first request of an operator to the barrier, so that others join."""
IDLENESS_DELAY_MS = 50
"""Milliseconds from one barrier to the next at most if event time waits for it, because sources
sleep and wake."""
MOST_STRETCHED = 1000.0
"""Milliseconds to which epochs are stretched at most."""


class HookError(Exception):
    """Wrapper for the error of a hook, such as an enumerator's error, which does not mean that a
    task has failed.

    Args:
        error: error of the hook.
    """

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


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
        """Whether a plan belongs to this epoch and to the same attempt."""
        return (self.plan.epoch, self.plan.attempt) == (plan.epoch, plan.attempt)

    @property
    def has_failed(self) -> bool:
        """Whether a subtask has failed."""
        return any(ack.failure is not None for ack in self.acks)


class BarrierTimes:
    """Computes the times of a job's barriers from the news of its epochs and the durations of the
    last barriers.

    Args:
        interval: milliseconds from one barrier to the next, while there is news.
    """

    def __init__(self, interval: int) -> None:
        self._interval = interval
        self._rounds_ms = 0.0
        """Shortest useful time between two barriers in ms, by the duration of the last ones."""
        self._loop_epochs = 0
        """Number of the last epochs at whose ends something was left in loops."""

    def due(self, opened: OpenEpoch, tasks: int, is_asked: bool) -> int | None:
        """Time of the barrier, in ms since the epoch. None if there is no reason for one yet.

        Args:
            is_asked: whether somebody waits for the barrier.
        """
        is_exhausted = len(opened.exhausted) == tasks and not opened.plan.only_commits
        ends_now = is_asked or opened.has_splits
        if ends_now or (is_exhausted and not self._loop_epochs):
            return opened.began
        times = [] if opened.plan.ends_at is None else [opened.plan.ends_at]
        if is_exhausted and News.RECORDS in opened.news:
            times.append(opened.began + self._loop_patience())
        if News.REQUEST in opened.news:
            times.append(opened.began + REQUEST_DELAY_MS)
        if News.RECORDS in opened.news:
            times.append(opened.began + max(self._interval, int(self._rounds_ms)))
        if News.IDLENESS in opened.news:
            delay = min(self._interval, IDLENESS_DELAY_MS)
            times.append(opened.began + max(delay, int(self._rounds_ms)))
        return min(times, default=None)

    def _loop_patience(self) -> int:
        """Milliseconds to the next barrier, when only loops have something to do: at first few, as
        most loops end soon after their input."""
        often = REQUEST_DELAY_MS << min(self._loop_epochs, 10)
        return max(min(often, self._interval), int(self._rounds_ms))

    def passed(self, seconds: float, acks: Sequence[Ack]) -> None:
        """Record how long a barrier took to pass all subtasks, and whether records, timers or
        requests are left in loops. Under load, epochs become longer, so that barriers take at most
        a fifth of the time.
        """
        self._rounds_ms += 0.3 * (min(4000 * seconds, MOST_STRETCHED) - self._rounds_ms)
        loops = [ack.loops for ack in acks]
        is_looping = any(loop.feedback or loop.held or loop.waits_to_end for loop in loops)
        self._loop_epochs = self._loop_epochs + 1 if is_looping else 0


def part_of(plan: EpochPlan, task: int, width: int) -> EpochPlan:
    """Part of a plan for the subtasks of one task."""
    part: dict[tuple[int, int], SubtaskPlan] = {
        place: subtask for place, subtask in plan.subtasks.items() if place[1] % width == task
    }
    return replace(plan, subtasks=part)
