"""A bounded cache of look-ups: the least recently used leave first, all leave after a while."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from math import inf
from typing import Any

__all__ = ["LookupCache"]


class LookupCache:
    """What was found for keys. Flink: ``LookupCache`` (FLIP-221).

    Args:
        max_rows: rows to keep; a key without rows counts as one.
        ttl_s: seconds that what was found holds, counted from when it was.
        missing: whether to keep that nothing was found.
        clock: gives seconds.
        idle_s: seconds after which what nobody asks for is forgotten.

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
        """The rows of a key; None: it has to be looked up."""
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
        """Keep what was found."""
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
