"""Tracks checkpoints until the sinks have committed their committables, and announces them then."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from millrace.engine.checkpoint_coordinator import CheckpointCoordinator
from millrace.engine.job_observer import JobObserver
from millrace.engine.sink_coordinator import SinkCoordinator
from millrace.state.checkpoint.manifest import Manifest

__all__ = ["CommittedCheckpoints"]


class CommittedCheckpoints:
    """Checkpoints with committables that the sinks have yet to commit, oldest first.

    Args:
        observers: are notified of a checkpoint of this run once all its committables are committed.
    """

    def __init__(
        self, checkpoints: CheckpointCoordinator, observers: Iterable[JobObserver]
    ) -> None:
        self._checkpoints = checkpoints
        self._observers = observers
        self._uncommitted: deque[tuple[int, Manifest | None]] = deque()

    def add(self, checkpoint: int, manifest: Manifest | None) -> None:
        """Record that the sinks begin to commit the committables of this checkpoint.

        Args:
            manifest: manifest of the checkpoint; None for a checkpoint of a former run.
        """
        self._uncommitted.append((checkpoint, manifest))

    def includes(self, checkpoint: int) -> bool:
        """Whether all committables of a checkpoint are committed, as of the last `announce`."""
        return not self._uncommitted or checkpoint < self._uncommitted[0][0]

    def announce(self, sinks: SinkCoordinator) -> None:
        """Remove the checkpoints that the sinks have committed, and tell the observers about the
        newest of these.

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
        """Forget the checkpoints that were not announced. Their committables that are still not
        committed become part of the next checkpoint."""
        self._uncommitted.clear()
