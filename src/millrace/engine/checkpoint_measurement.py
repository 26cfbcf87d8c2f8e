"""Measurement of a checkpoint: its duration, and the bytes of state that it writes."""

from __future__ import annotations

import time
from collections.abc import Mapping

from millrace.engine.job_details import CheckpointStats, StateSize
from millrace.state.checkpoint.directory import checkpoint_dir

__all__ = ["CheckpointMeasurement"]


class CheckpointMeasurement:
    """Measures a checkpoint from its beginning until the sinks have committed.

    Args:
        epoch: first epoch that is not part of the checkpoint.
        triggered: time of the trigger, ms since the epoch of Unix.
        job_dir: directory of the job.
        sizes: bytes of state that the checkpoint refers to and writes, by stage uid.
    """

    def __init__(
        self, epoch: int, triggered: int, job_dir: str, sizes: Mapping[str, StateSize]
    ) -> None:
        self._epoch = epoch
        self._triggered = triggered
        self._job_dir = job_dir
        self._sizes = sizes
        self._started = time.perf_counter()
        self._written_ms = 0.0

    def written(self) -> None:
        """Record that the checkpoint is complete, and that the commits follow."""
        self._written_ms = self._passed()

    def completed(self, number: int) -> CheckpointStats:
        """Figures of the checkpoint, once the sinks have committed or have begun to commit."""
        return CheckpointStats(
            number,
            self._epoch,
            self._triggered,
            self._passed(),
            size=sum(size.written for size in self._sizes.values()),
            full_size=sum(size.full for size in self._sizes.values()),
            path=checkpoint_dir(self._job_dir, number),
            written_ms=self._written_ms,
            stages=self._sizes,
        )

    def failed(self, reason: str) -> CheckpointStats:
        """Figures of a checkpoint that could not be written."""
        return CheckpointStats(None, self._epoch, self._triggered, self._passed(), reason)

    def _passed(self) -> float:
        return (time.perf_counter() - self._started) * 1000
