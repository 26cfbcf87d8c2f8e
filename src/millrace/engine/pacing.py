"""Pacing: the number of records that an epoch may read, so that epochs stay short, independent
of the cost of a record."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from math import sqrt

from millrace.runtime.epoch import Ack
from millrace.runtime.program import Program

__all__ = ["Pacer", "processing_ms"]

_GROWTH = 16.0
"""Greatest factor by which an epoch may exceed the previous one, because the cost of a record
may rise."""
_SPREAD = 2.0
"""Factor by which the sizes of two epochs must differ to show the cost of reading."""
_WINDOW = 16
"""Number of consecutive epochs that are compared, all of which took more than half of the
target."""
_FEW = 8
"""Records per split below which an epoch is not made smaller to learn from it: a single record
matters then, and the epoch would not become as big again."""
_ROOM = 1.8
"""Factor by which an epoch may exceed the cost of one that reads nothing: nearly half of its time
is then for records. If that cost is below the target, it takes less than twice the target."""
_MOST_FIXED = 0.8
"""Part of the target that is taken for the cost of an epoch that reads nothing."""


class Pacer:
    """Adapts the number of records per split to the target duration of epochs.

    An epoch has a fixed cost, independent of its input (many subtasks, few cores), and a cost per
    record. Slow epochs that read different amounts show both costs. If the fixed cost is most of
    the target, reading less helps little. The target is then nearly twice the fixed cost, until an
    epoch is so short that it does not matter.

    Example:
        >>> pacer = Pacer(initial=100, maximum=1_000_000, target_ms=1000)
        >>> pacer.observe(epoch_ms=50_000, largest_split=100)
        >>> pacer.records
        2
    """

    def __init__(self, initial: int, maximum: int, target_ms: int) -> None:
        self.records = min(initial, maximum)
        self.starting = True
        """Whether the next epoch is the first in its workers, which start for it."""
        self._maximum = maximum
        self._wanted = float(target_ms)
        self._slow: deque[tuple[int, float]] = deque(maxlen=_WINDOW)
        """Records read and duration of each of the last epochs, since one was so short that its
        fixed cost does not matter."""
        self._fixed = 0.0
        """Milliseconds of an epoch that reads nothing, as far as it is known."""
        self._proven = 0
        """Maximum number of records that an epoch has read in time since the last epoch that was
        too slow."""

    def accept(self, acks: Sequence[Ack], program: Program, epoch_ms: float) -> None:
        """Learn from an accepted epoch; the start of workers does not count."""
        if self.starting:
            self.starting = False
            levels = {stage.id: stage.level for stage in program.stages}
            epoch_ms = min(epoch_ms, processing_ms(acks, levels))
        largest = max((split.records for ack in acks for split in ack.reading.splits), default=0)
        self.observe(epoch_ms, largest)

    def observe(self, epoch_ms: float, largest_split: int) -> None:
        """Record that an epoch took ``epoch_ms``, and that its largest split gave ``largest_split``
        records.

        A quick epoch that did not reach its limit does not make the next one bigger. But it shows
        the highest possible cost of a record, so an initial limit that is too big is corrected
        before the first backlog. An epoch that read nothing shows nothing about records.
        """
        if not largest_split:
            return
        self._learn(epoch_ms, largest_split)
        limited = largest_split >= self.records
        target = max(self._wanted, _ROOM * self._fixed)
        if epoch_ms <= target:
            self._proven = max(self._proven, largest_split)
            possible = target / max(epoch_ms, 1.0)
            if limited:
                self._set(self.records * min(_GROWTH, possible))
                self._probe()
            else:
                known = max(largest_split * possible, self._proven)
                self._set(min(self.records, known))
            return
        self._proven = 0
        # what it may have read matters less than what it did
        read = min(self.records, largest_split)
        fixed = min(self._fixed, _MOST_FIXED * target)
        self._set(read * (target - fixed) / (epoch_ms - fixed))
        self._probe()

    def _set(self, records: float) -> None:
        self.records = max(1, min(self._maximum, int(records)))

    def _learn(self, epoch_ms: float, largest_split: int) -> None:
        if _ROOM * epoch_ms <= self._wanted:
            self._slow.clear()
            self._fixed = 0.0
            return
        self._slow.append((largest_split, epoch_ms))
        compared = self._compared()
        if compared is not None:
            no_help = _helps_little(compared, self._slow[-1])
            self._fixed = _cost_of_nothing(self._slow) if no_help else 0.0

    def _compared(self) -> tuple[int, float] | None:
        """Earlier slow epoch to compare with the newest: the epoch with the nearest number of
        records that differs enough to show the cost of reading. None if there is none."""
        *before, (newest, _) = self._slow
        far = [epoch for epoch in before if _ratio(epoch[0], newest) >= _SPREAD]
        return min(far, key=lambda epoch: _ratio(epoch[0], newest), default=None)

    def _probe(self) -> None:
        """Let the next epoch read less, if the last slow epochs all read about the same number
        of records. The comparison then shows whether the records took the time."""
        sizes = [read for read, _ in self._slow]
        same = len(sizes) == _WINDOW and _ratio(max(sizes), min(sizes)) < _SPREAD
        if same and sizes[-1] >= _FEW:
            self._set(min(self.records, sizes[-1]) / _SPREAD)


def processing_ms(acks: Iterable[Ack], levels: Mapping[int, int]) -> float:
    """Milliseconds that the subtasks of an epoch took, without the start of workers for them.

    Args:
        levels: level of each stage. Stages of one level run at the same time.
    """
    taken: dict[int, dict[str, float]] = {}
    for ack in acks:
        workers = taken.setdefault(levels[ack.stage], {})
        workers[ack.worker] = workers.get(ack.worker, 0.0) + ack.time.seconds
    return 1000 * sum(max(workers.values()) for workers in taken.values())


def _ratio(one: float, other: float) -> float:
    return max(one, other) / min(one, other)


def _helps_little(one: tuple[int, float], other: tuple[int, float]) -> bool:
    """Whether the durations of two epochs differ by a much smaller ratio than their numbers of
    records."""
    return _ratio(one[1], other[1]) < sqrt(_ratio(one[0], other[0]))


def _cost_of_nothing(epochs: deque[tuple[int, float]]) -> float:
    """Estimated milliseconds of an epoch that reads nothing. The estimate is the intercept of a
    least-squares line with relative errors, so that long epochs weigh no more than short ones."""
    weights = [1 / (taken * taken) for _, taken in epochs]
    total = sum(weights)
    read = sum(w * n for w, (n, _) in zip(weights, epochs, strict=True)) / total
    taken = sum(w * t for w, (_, t) in zip(weights, epochs, strict=True)) / total
    spread = sum(w * (n - read) ** 2 for w, (n, _) in zip(weights, epochs, strict=True))
    joint = sum(w * (n - read) * (t - taken) for w, (n, t) in zip(weights, epochs, strict=True))
    least = min(t for _, t in epochs)
    return min(least, max(0.0, taken - max(0.0, joint / spread) * read))
