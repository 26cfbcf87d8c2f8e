"""Injected faults of a cluster, drawn at random from a seed."""

from __future__ import annotations

import random
from dataclasses import dataclass


@dataclass(frozen=True)
class Faults:
    """Probability of each fault, from 0 (never) to 1.

    Whatever the odds, no more than ``in_a_row`` epochs fail one after the other, for the engine
    gives up after a few.
    """

    lost_epochs: float = 0.0
    """Probability that an epoch runs in all subtasks, but its answers are lost."""
    lost_workers: float = 0.0
    """Probability that a worker dies before an epoch, with all the state it keeps."""
    repeated_tasks: float = 0.0
    """Probability that a task runs twice, and its consumers get buffers of either attempt."""
    lost_buffers: float = 0.0
    """Probability that a task loses one of the buffers it sends."""
    in_a_row: int = 3


class Dice:
    """Random decisions about faults in one run."""

    def __init__(self, faults: Faults, seed: int) -> None:
        self._faults = faults
        self._random = random.Random(seed)
        self._spared = False

    def begin_epoch(self, attempt: int) -> None:
        """Begin an epoch; ``attempt`` is the number of its attempts so far."""
        self._spared = attempt >= self._faults.in_a_row

    def lose_epoch(self) -> bool:
        """Whether the epoch's answers are lost."""
        return self._falls(self._faults.lost_epochs)

    def lose_worker(self) -> bool:
        """Whether a worker dies. Jobs survive any number of lost workers."""
        return self._random.random() < self._faults.lost_workers

    def repeat_task(self) -> bool:
        """Whether a task runs twice."""
        return self._falls(self._faults.repeated_tasks)

    def lose_buffer(self) -> bool:
        """Whether a task loses a buffer."""
        return self._falls(self._faults.lost_buffers)

    def choose(self, count: int) -> int:
        """A random number from ``range(count)``."""
        return self._random.randrange(count)

    def _falls(self, chance: float) -> bool:
        return not self._spared and self._random.random() < chance
