"""Lets sinks delete, at intervals, the files that failed attempts have left."""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from threading import Thread

from millrace.engine.sink_coordinator import SinkCoordinator, Sweep
from millrace.state.checkpoint.retention import ORPHAN_AGE, SWEEP_EVERY

log = logging.getLogger(__name__)


class SinkSweeper:
    """Sweeps in a separate thread, after one checkpoint in `SWEEP_EVERY`."""

    def __init__(self) -> None:
        self._until_sweep = 0
        self._thread: Thread | None = None

    def committed(self, sinks: SinkCoordinator, run_ids: Collection[str]) -> None:
        """Record that the sinks have committed all committables of a checkpoint, and sweep if it is
        time.

        Files that the sinks use from now on are either named by that checkpoint or too young to be
        deleted, so the thread need not know them.
        """
        if self._until_sweep > 0:
            self._until_sweep -= 1
            return
        sweeps = sinks.sweeps(run_ids, int(ORPHAN_AGE * 1000))
        if sweeps is None or (self._thread is not None and self._thread.is_alive()):
            return
        self._until_sweep = SWEEP_EVERY - 1
        if sweeps:
            self._thread = Thread(target=_run, args=(sweeps,), name="sink sweeper", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Wait for the running sweep, which must not go on when another run has the lease."""
        if self._thread is not None:
            self._thread.join()


def _run(sweeps: Sequence[Sweep]) -> None:
    for sweep in sweeps:
        try:
            sweep()
        except Exception as error:
            log.warning("leftovers of a sink could not be deleted: %s", error)
