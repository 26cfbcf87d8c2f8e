"""Start times of epochs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from threading import Event

from millrace.engine.clock import Clock
from millrace.engine.deployment import Deployment
from millrace.runtime.epoch import Ack

__all__ = ["EpochTimer"]


class EpochTimer:
    """Waits until an epoch has work to do.

    Args:
        min_interval: minimum time between the starts of two epochs, in ms.
        keep_warm: maximum time between two epochs, in ms.
        wanted: event that is set when there is a request to the job.
    """

    def __init__(self, clock: Clock, min_interval: int, keep_warm: int, wanted: Event) -> None:
        self._clock = clock
        self._min_interval = min_interval
        self._keep_warm = keep_warm
        self._wanted = wanted
        self.stands_still = False
        """Whether epochs only make commits. They then have the time of the last normal epoch,
        and due timers are left to the run that continues."""
        self.started = 0
        """Start of the last epoch (ms since the epoch)."""
        self._ended = clock.now()
        """End of the last epoch."""
        self._wakeup: int | None = 0

    def start(self) -> int:
        """Record that an epoch starts now; returns the time."""
        if not self.stands_still:
            self.started = self._clock.now()
        return self.started

    def plan_next(self, acks: Iterable[Ack], at_once: bool) -> None:
        """Schedule the next epoch after the end of one: at the time that its subtasks request,
        or immediately."""
        self._ended = self._clock.now()
        times = [ack.progress.next_wakeup for ack in acks if ack.progress.next_wakeup is not None]
        if at_once:
            times.append(self.started)
        earliest = min(times, default=None)
        after = self.started + self._min_interval
        self._wakeup = None if earliest is None else max(earliest, after)

    def hurry(self) -> None:
        """Make the next epoch due as soon as it is allowed."""
        self._wakeup = self.started

    def wait(
        self, deployment: Deployment, asked: Callable[[], bool], checkpoint_at: int | None = None
    ) -> bool:
        """Wait for input, a timer, the keep-warm time, or ``asked`` to be true, whichever comes
        first. The discovery of new splits needs no epoch.

        Returns False if a checkpoint is due before (``checkpoint_at``, ms since the epoch).
        """
        due = self._ended + self._keep_warm
        if self._wakeup is not None and not self.stands_still:
            due = min(due, self._wakeup)
        limit = due if checkpoint_at is None or self.stands_still else checkpoint_at
        while (now := self._clock.now()) < due and not asked():
            if deployment.discover(now):
                return True
            if now >= limit:
                return False
            next_look = deployment.next_discovery()
            until = min(due, limit) if next_look is None else min(due, limit, next_look)
            self._clock.wait_until(until, self._wanted)
        return True
