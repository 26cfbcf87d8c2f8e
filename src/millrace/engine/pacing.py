"""How much an epoch may read: little when caught up, much under backlog, never too much."""

from __future__ import annotations

_GROWTH = 4.0


class Pacer:
    """Adapts the records per split to the time that epochs should take."""

    def __init__(self, initial: int, maximum: int, target_ms: int) -> None:
        self.records = min(initial, maximum)
        self._maximum = maximum
        self._target = target_ms

    def observe(self, epoch_ms: float, largest_split: int) -> None:
        """An epoch took ``epoch_ms``; the split that gave most gave ``largest_split`` records.

        An epoch that was not limited says nothing about a bigger one, so nothing changes then.
        """
        limited = largest_split >= self.records
        if not limited and epoch_ms <= self._target:
            return
        factor = min(_GROWTH, max(0.1, self._target / max(epoch_ms, 1.0)))
        self.records = max(1, min(self._maximum, int(self.records * factor)))
