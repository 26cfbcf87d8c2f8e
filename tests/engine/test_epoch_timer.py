"""When the next epoch starts."""

from __future__ import annotations

from threading import Event
from typing import Any

from millrace.engine.epoch_timer import EpochTimer
from millrace.runtime.epoch import Ack, ProgressReport


class Waiting:
    """A deployment whose sinks try a commit again at a time."""

    def __init__(self, at: int) -> None:
        self.at = at

    def discover(self, now: int) -> bool:
        return now >= self.at

    def next_discovery(self) -> int:
        return self.at


class Clock:
    """Waiting takes no time, but moves it."""

    def __init__(self) -> None:
        self.time = 1_000

    def now(self) -> int:
        return self.time

    def wait_until(self, time: int, wanted: Event) -> None:
        self.time = max(self.time, time)


def test_timers_wait_while_time_stands_still() -> None:
    """A job that stops waited for nothing: a timer that was due made one empty epoch follow the
    other, at the time of the first."""
    clock: Any = Clock()
    timer = EpochTimer(clock, 0, 45_000, Event())
    assert timer.start() == 1_000
    timer.plan_next([Ack(0, 0, 0, progress=ProgressReport(next_wakeup=1_200))], at_once=False)
    deployment: Any = Waiting(at=5_000)
    timer.wait(deployment, lambda: False)
    assert clock.now() == 1_200
    timer.stands_still = True
    timer.wait(deployment, lambda: False)
    assert clock.now() == 5_000
    assert timer.start() == 1_000
    timer.stands_still = False
    assert timer.start() == 5_000


def test_a_checkpoint_that_falls_due_needs_no_epoch() -> None:
    clock: Any = Clock()
    timer = EpochTimer(clock, 0, 45_000, Event())
    timer.start()
    timer.plan_next([Ack(0, 0, 0, progress=ProgressReport(next_wakeup=3_000))], at_once=False)
    deployment: Any = Waiting(at=5_000)
    assert not timer.wait(deployment, lambda: False, checkpoint_at=2_000)
    assert clock.now() == 2_000
    assert timer.wait(deployment, lambda: False)
    assert clock.now() == 3_000
    timer.stands_still = True
    assert timer.wait(deployment, lambda: False, checkpoint_at=2_000)
    assert clock.now() == 5_000
