"""`WindowTime`: the clock that assigns rows to windows and fires windows.

Windows over TIMESTAMP are cut by its values. Windows over TIMESTAMP_LTZ, as those by processing
time, are cut by the wall clock of the session's zone: where clocks are put back an hour is in the
windows of one hour, which are complete once it has passed for the second time. Semantics: Flink
docs, "Time Zone", "Time Attribute and Timezone" and "Daylight Saving Time Support". Flink:
``TimeWindowUtil``.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["EVENT_TIME", "WindowTime"]

Times = npt.NDArray[np.int64]
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LAST = int(datetime(9999, 12, 30, tzinfo=UTC).timestamp() * 1000)
"""Python's calendar ends a day later."""
_FIRST = int(datetime(1, 1, 2, tzinfo=UTC).timestamp() * 1000)


@dataclass(frozen=True)
class WindowTime:
    """Relation of windows to time. All times are in ms; wall clock times are expressed as if they
    were UTC.

    Attributes:
        zone: time zone whose wall clock divides the windows; None if rows already have wall clock
            times.
        processing: whether windows follow processing time, or else event time and watermarks.

    Example:
        >>> berlin = WindowTime("Europe/Berlin")
        >>> berlin.wall(np.array([0])).tolist()
        [3600000]
        >>> berlin.instants(np.array([3600000])).tolist()
        [0]
    """

    zone: str | None = None
    processing: bool = False

    def wall(self, instants: Times) -> Times:
        """Wall clock times of instants."""
        if self.zone is None:
            return instants
        stamps = pa.array(instants).cast(pa.timestamp("ms", self.zone))
        shown = pc.local_timestamp(stamps).cast(pa.int64())
        times: Times = shown.to_numpy(zero_copy_only=False)
        return times

    def instants(self, walls: Times) -> Times:
        """For each wall clock time, the last instant at which the clock shows it. A time that the
        wall clock skips is moved forward by the length of the gap, as in Java.
        """
        if self.zone is None:
            return walls
        stamps = pa.array(walls).cast(pa.timestamp("ms"))
        instants = _numbers(
            pc.assume_timezone(stamps, self.zone, ambiguous="latest", nonexistent="latest")
        )
        skipped = np.flatnonzero(self.wall(instants) != walls)
        if skipped.size:
            # half a day before, the clock has another offset from UTC
            day = 24 * 3_600_000
            before = pa.array(walls[skipped] - day // 2).cast(pa.timestamp("ms"))
            earlier = pc.assume_timezone(
                before, self.zone, ambiguous="earliest", nonexistent="earliest"
            )
            instants[skipped] = _numbers(earlier) + day // 2
        return instants

    def reached(self, instant: int) -> int:
        """Greatest wall clock time that has passed at an instant and that no later change of the
        clock shows again."""
        if self.zone is None or not _FIRST < instant < _LAST:
            return instant
        zone = ZoneInfo(self.zone)
        now = _at(instant, zone)
        again = now.utcoffset() - now.replace(fold=1).utcoffset()  # type: ignore[operator]
        if now.fold or again <= timedelta():
            return _wall(now)
        # the clock will be put back and show this time again: what has passed is what it will
        # not show again
        low, high = instant, instant + again // timedelta(milliseconds=1)
        while high - low > 1:
            middle = (low + high) // 2
            if _at(middle, zone).utcoffset() == now.utcoffset():
                low = middle
            else:
                high = middle
        return _wall(_at(high, zone)) - 1

    def wakeup(self, wall: int) -> int | None:
        """Processing time at which a wall clock time will have passed, and no later change of
        the clock can show it again. None if no wake-up is needed."""
        if not self.processing or not _FIRST < wall < _LAST:
            return None
        return int(self.instants(np.array([wall]))[0]) + 1


EVENT_TIME = WindowTime()
"""Times of windows over TIMESTAMP."""


def _numbers(stamps: pa.Array) -> Times:
    return np.array(stamps.cast(pa.int64()).to_numpy(zero_copy_only=False))


def _at(instant: int, zone: ZoneInfo) -> datetime:
    return (_EPOCH + timedelta(milliseconds=instant)).astimezone(zone)


def _wall(shown: datetime) -> int:
    return (shown.replace(tzinfo=UTC, fold=0) - _EPOCH) // timedelta(milliseconds=1)
