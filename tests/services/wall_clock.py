"""A clock that goes, for tests with real servers."""

from __future__ import annotations

import time
from threading import Event

from millrace.testing import ManualClock


class WallClock(ManualClock):
    """The machine's time: what comes over a network takes some."""

    def now(self) -> int:
        return time.time_ns() // 1_000_000

    def wait_until(self, at: int | None, interrupted: Event) -> None:
        interrupted.wait(None if at is None else max(0, at - self.now()) / 1000)
