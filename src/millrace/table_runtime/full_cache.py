"""`FullCache`: all rows of a lookup table, which are reloaded from time to time.

The cache is filled at the first lookup. Once a reload is due, the first lookup of an epoch that
begins after that reloads it; until then the rows stay the same. Flink: ``LookupFullCache``, with
``PeriodicCacheReloadTrigger`` and ``TimedCacheReloadTrigger``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from typing import Any, Protocol
from zoneinfo import ZoneInfo

from millrace.common.functions.lookup_functions import Key, Rows

__all__ = ["CacheReload", "FullCache", "PeriodicReload", "TimedReload", "rows_by_key"]


class CacheReload(Protocol):
    """Schedule of the reloads of a cache."""

    def next(self, now: int, due: int | None) -> int:
        """Time of the next reload, in ms since 1970.

        Args:
            now: time of the last reload.
            due: time at which that reload was due. None for the first one.
        """


@dataclass(frozen=True)
class PeriodicReload:
    """Reload after an interval in ms: counted from the last reload, or with ``fixed_rate`` from the
    time at which the last reload was due.

    Example:
        >>> PeriodicReload(100).next(250, 200), PeriodicReload(100, True).next(250, 200)
        (350, 300)
    """

    interval: int
    fixed_rate: bool = False

    def next(self, now: int, due: int | None) -> int:
        """Time of the next reload; see `CacheReload.next`."""
        if not self.fixed_rate or due is None:
            return now + self.interval
        return due + ((now - due) // self.interval + 1) * self.interval


@dataclass(frozen=True)
class TimedReload:
    """Reload at a time of the day, every given number of days.

    Attributes:
        at: the time. A time without an offset is in ``zone``.
        zone: name of a time zone.
        days: days from one reload to the next.
    """

    at: time
    zone: str = "UTC"
    days: int = 1

    def next(self, now: int, due: int | None) -> int:
        """Time of the next reload; see `CacheReload.next`."""
        zone = self.at.tzinfo or ZoneInfo(self.zone)
        here = datetime.fromtimestamp(now / 1000, UTC).astimezone(zone)
        day = here.date()
        if due is not None:
            day = datetime.fromtimestamp(due / 1000, UTC).astimezone(zone).date()
        step = timedelta(days=1 if due is None else self.days)
        while (instant := _millis(datetime.combine(day, self.at.replace(tzinfo=zone)))) <= now:
            day += step
        return instant


def _millis(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)


class FullCache:
    """Rows of a table by key.

    Args:
        reload: schedule of the reloads.
    """

    def __init__(self, reload: CacheReload) -> None:
        self._reload = reload
        self._rows: Rows = {}
        self._due: int | None = None

    def is_due(self, now: int) -> bool:
        """Whether the table must be reloaded before the next lookup."""
        return self._due is None or now >= self._due

    def fill(self, rows: Rows, now: int) -> None:
        """Replace the cached rows with the rows just read."""
        self._rows = rows
        self._due = self._reload.next(now, self._due)

    def get(self, key: Key) -> Sequence[Sequence[Any]]:
        """The rows with the given key."""
        return self._rows.get(key, ())


def rows_by_key(scanned: Iterable[tuple[Key, Sequence[Any]]]) -> Rows:
    """Rows by key. Rows with a NULL in their key are left out, since no lookup matches them."""
    by_key: dict[Key, list[Sequence[Any]]] = {}
    for key, row in scanned:
        if None not in key:
            by_key.setdefault(key, []).append(row)
    return by_key
