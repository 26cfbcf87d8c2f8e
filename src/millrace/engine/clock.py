"""Processing time, as a protocol, so that tests can stop it."""

from __future__ import annotations

import time
from threading import Event
from typing import Protocol


class Clock(Protocol):
    """Source of processing time that can also wait for a time."""

    def now(self) -> int:
        """Milliseconds since the epoch."""

    def wait_until(self, at: int | None, interrupted: Event) -> None:
        """Wait until the time ``at`` (ms since the epoch; None for no limit), or until the event
        is set."""


class SystemClock:
    """The machine's clock."""

    def now(self) -> int:
        """Milliseconds since the epoch."""
        return time.time_ns() // 1_000_000

    def wait_until(self, at: int | None, interrupted: Event) -> None:
        """Sleep until ``at``, or until interrupted."""
        seconds = None if at is None else max(0, at - self.now()) / 1000
        if seconds is None or seconds > 0:
            interrupted.wait(seconds)
