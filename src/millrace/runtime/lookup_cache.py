"""A bounded cache of lookups. The least recently used entries are evicted first, and all entries
expire."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from math import inf
from typing import Any

__all__ = ["LookupCache"]


class LookupCache:
    """Cached rows by lookup key. Flink: ``LookupCache`` (FLIP-221).

    Args:
        max_rows: maximum number of rows. A key without rows counts as one row.
        ttl_s: seconds after the lookup at which an entry expires.
        missing: whether keys without rows are cached as well.
        clock: function that gives the time in seconds.
        idle_s: seconds after the last use at which an entry expires.

    Example:
        >>> cache = LookupCache(max_rows=2, ttl_s=60, missing=True)
        >>> for key in "abc":
        ...     cache.put(key, [key.upper()])
        >>> cache.get("a"), cache.get("c")
        (None, ['C'])
    """

    def __init__(
        self,
        max_rows: int,
        ttl_s: float,
        missing: bool,
        clock: Callable[[], float] = time.monotonic,
        idle_s: float = inf,
    ) -> None:
        self._max_rows = max_rows
        self._ttl_s = ttl_s
        self._missing = missing
        self._clock = clock
        self._idle_s = idle_s
        self._found: OrderedDict[Hashable, tuple[float, float, Sequence[Any]]] = OrderedDict()
        self._rows = 0

    def get(self, key: Hashable) -> Sequence[Any] | None:
        """Cached rows of a key. None if the key must be looked up."""
        entry = self._found.get(key)
        if entry is None:
            return None
        until, used, rows = entry
        now = self._clock()
        if until < now or used + self._idle_s < now:
            self._remove(key)
            return None
        if self._idle_s < inf:
            self._found[key] = (until, now, rows)
        self._found.move_to_end(key)
        return rows

    def put(self, key: Hashable, rows: Sequence[Any]) -> None:
        """Cache the rows of a key."""
        if not rows and not self._missing:
            return
        if key in self._found:
            self._remove(key)
        now = self._clock()
        self._found[key] = (now + self._ttl_s, now, rows)
        self._rows += max(1, len(rows))
        while self._rows > self._max_rows:
            self._remove(next(iter(self._found)))

    def _remove(self, key: Hashable) -> None:
        _, _, rows = self._found.pop(key)
        self._rows -= max(1, len(rows))
