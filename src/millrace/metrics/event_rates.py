"""Events per second, from counts that are sampled now and then (Flink: ``MeterView``)."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable

__all__ = ["EventRates"]

SPAN = 60
"""Seconds over which rates are computed, as in Flink's meters."""
_SPACING = 1_000
"""Milliseconds between two remembered counts."""


class EventRates:
    """Counts of the last minute, and the rates between them.

    Example:
        >>> rates = EventRates()
        >>> [rates.of("clicks", count, now) for count, now in ((0, 0), (50, 10_000))]
        [0.0, 5.0]
    """

    def __init__(self) -> None:
        self._seen: dict[Hashable, deque[tuple[int, float]]] = {}
        self.began: int | None = None
        """Time at which new counters were 0, in ms since the Unix epoch; None if unknown."""

    def of(self, key: Hashable, count: float, now: int, span: int = SPAN) -> float:
        """Events per second of a counter with value ``count`` at ``now`` (ms since the Unix
        epoch)."""
        seen = self._seen.get(key)
        if seen is None:
            began = () if self.began is None else [(self.began, 0.0)]
            seen = self._seen[key] = deque(began)
        if seen and (count < seen[-1][1] or now < seen[-1][0]):
            seen.clear()  # it counts anew
        while len(seen) > 1 and seen[0][0] < now - span * 1_000:
            seen.popleft()
        since, before = seen[0] if seen else (now, count)
        if not seen or now - seen[-1][0] >= _SPACING:
            seen.append((now, count))
        return (count - before) * 1_000 / (now - since) if now > since else 0.0
