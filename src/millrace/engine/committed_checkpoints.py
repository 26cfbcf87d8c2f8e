"""Follows checkpoints until the sinks have committed what they name, and announces that."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from millrace.engine.checkpoint_coordinator import CheckpointCoordinator
from millrace.engine.job_observer import JobObserver
from millrace.engine.sink_coordinator import SinkCoordinator
from millrace.state.checkpoint.manifest import Manifest

__all__ = ["CommittedCheckpoints"]


class CommittedCheckpoints:
    """The checkpoints of which the sinks have yet to commit something, the oldest first.

    Args:
        observers: hear of a checkpoint of this run when all is committed that it names.
    """

    def __init__(
        self, checkpoints: CheckpointCoordinator, observers: Iterable[JobObserver]
    ) -> None:
        self._checkpoints = checkpoints
        self._observers = observers
        self._uncommitted: deque[tuple[int, Manifest | None]] = deque()

    def add(self, checkpoint: int, manifest: Manifest | None) -> None:
        """The sinks commit, from now on, what this checkpoint names.

        Args:
            manifest: None: it is a former run's.
        """
        self._uncommitted.append((checkpoint, manifest))

    def includes(self, checkpoint: int) -> bool:
        """Whether all is committed that a checkpoint names, as far as `announce` knows."""
        return not self._uncommitted or checkpoint < self._uncommitted[0][0]

    def announce(self, sinks: SinkCoordinator) -> None:
        """Note what the sinks have committed meanwhile, and tell the observers of the newest.

        Raises JobExecutionError when a commit in the background has failed.
        """
        oldest = sinks.oldest_uncommitted()
        newest: Manifest | None = None
        while self._uncommitted and (oldest is None or self._uncommitted[0][0] < oldest):
            checkpoint, newest = self._uncommitted.popleft()
            if newest is None or any(newest.pending.values()):
                self._checkpoints.note_committed(checkpoint)
        if newest is not None:
            for observer in self._observers:
                observer.committed(newest)

    def forget(self) -> None:
        """Forget checkpoints not yet announced; the next checkpoint names what is left of them."""
        self._uncommitted.clear()
