"""Pacing: how many records an epoch may read, so that it is short when there is no backlog."""

from __future__ import annotations

_GROWTH = 4.0


_SHRINK = 0.25
_NO_HELP = 0.8
"""An epoch that read less and took more than this share of the time did not take it for reading."""


class Pacer:
    """Adapts the records per split to the time that epochs should take.

    Where an epoch costs more than that however little it reads (many subtasks, few cores), reading
    less does not help; the target is then twice that cost, until an epoch meets the wanted one.
    """

    def __init__(self, initial: int, maximum: int, target_ms: int) -> None:
        self.records = min(initial, maximum)
        self._maximum = maximum
        self._wanted = float(target_ms)
        self._target = float(target_ms)
        self._slow: tuple[int, float] | None = None
        """What the last epoch that took too long had read, and how long it took."""

    def observe(self, epoch_ms: float, largest_split: int) -> None:
        """An epoch took ``epoch_ms``; the split that gave most gave ``largest_split`` records.

        An epoch that was not limited says nothing about a bigger one, so nothing changes then.
        """
        self._learn(epoch_ms, largest_split)
        limited = largest_split >= self.records
        if not limited and epoch_ms <= self._target:
            return
        factor = min(_GROWTH, max(_SHRINK, self._target / max(epoch_ms, 1.0)))
        self.records = max(1, min(self._maximum, int(self.records * factor)))

    def _learn(self, epoch_ms: float, largest_split: int) -> None:
        if epoch_ms <= self._wanted:
            self._target, self._slow = self._wanted, None
        elif self._slow is None or largest_split >= self._slow[0]:
            self._slow = (largest_split, epoch_ms)
        else:
            if epoch_ms > _NO_HELP * self._slow[1]:
                self._target = max(self._target, 2 * epoch_ms)
            self._slow = (largest_split, epoch_ms)
