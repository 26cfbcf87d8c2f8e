"""Processing time, behind a protocol so that tests can hold it still."""

from __future__ import annotations

import time
from threading import Event
from typing import Protocol


class Clock(Protocol):
    """A source of processing time that can also be waited for."""

    def now(self) -> int:
        """Milliseconds since the epoch."""

    def wait_until(self, at: int | None, interrupted: Event) -> None:
        """Return when ``at`` (ms since the epoch; None: never) has come or the event is set."""


class SystemClock:
    """The machine's clock."""

    def now(self) -> int:
        """Milliseconds since the epoch."""
        return time.time_ns() // 1_000_000

    def wait_until(self, at: int | None, interrupted: Event) -> None:
        """Sleep until then, or until interrupted."""
        seconds = None if at is None else max(0, at - self.now()) / 1000
        if seconds is None or seconds > 0:
            interrupted.wait(seconds)
