"""A clock that only moves when a test moves it."""

from __future__ import annotations

from threading import Event

from millrace.common.time.amounts import Duration, Time, millis


class ManualClock:
    """Processing time for tests; all times in ms since the Unix epoch.

    A job that waits for a time does not wait: the clock moves there. So timers, idleness and
    rates can be tested in no time, with the same result every time.

    Example:
        >>> clock = ManualClock(1_000)
        >>> clock.advance(Time.seconds(2))
        >>> clock.now()
        3000
    """

    def __init__(self, now: int = 0) -> None:
        self._now = now
        self.waits: list[int] = []
        """Times at which each wait began and ended: two entries per wait."""

    def now(self) -> int:
        """Current time, in ms since the Unix epoch."""
        return self._now

    def set(self, now: int) -> None:
        """Set the clock to a time, which may be earlier than the current one, because real
        clocks can be set back, too."""
        self._now = now

    def advance(self, by: Duration | Time | int) -> None:
        """Advance the clock (a number is in ms)."""
        self._now += millis(by)

    def wait_until(self, at: int | None, interrupted: Event) -> None:
        """Set the clock to ``at`` immediately, unless interrupted.

        Raises:
            RuntimeError: ``at`` is None: a test that waits forever has a bug.
        """
        if interrupted.is_set():
            return
        if at is None:
            raise RuntimeError("the job waits for nothing, and would never continue")
        self.waits += [self._now, at]
        self._now = max(self._now, at)
