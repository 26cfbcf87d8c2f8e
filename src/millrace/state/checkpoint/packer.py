"""Thread that packs delta files while the job runs."""

from __future__ import annotations

import logging
import os
import threading

from millrace.state.checkpoint.delta_set import DeltaSet
from millrace.state.checkpoint.files import StrPath
from millrace.state.checkpoint.packing import PackedFile, Packing, choose

__all__ = ["Packer"]

log = logging.getLogger(__name__)

CATCH_UP = 1.25
"""Maximum bytes to copy after a checkpoint, as a multiple of the bytes that it added."""
PAUSE_AFTER_ERROR = 8
"""Number of offers that are declined after a failure, so that a lasting failure does not fill
the log."""


class _CancelledError(Exception):
    """The job ends, so the copying is stopped."""


class Packer:
    """Packs one group of delta files per tier. Each checkpoint advances each packing by a part.

    Only the engine's thread calls the methods. No checkpoint waits for the packing. If it fails,
    there are only more files.
    """

    def __init__(self, job_dir: StrPath, run_id: str, durable: bool) -> None:
        self._job_dir = job_dir
        self._run_id = run_id
        self._durable = durable
        self._count = 0
        self._pause = 0
        self._owed = 0
        self._packings: dict[int, Packing] = {}
        """Packings by the tier that they read, ready ones included."""
        self._thread: threading.Thread | None = None
        self._cancelled = threading.Event()
        self._error: Exception | None = None

    def offer(self, deltas: DeltaSet, added: int) -> None:
        """Record that a checkpoint has added ``added`` bytes, and start to copy the next part of
        the files. If an earlier copy still runs, no further one is started.
        """
        self._owed += added
        if self._is_running() or self._must_pause():
            return
        for group in choose(deltas, self._packings):
            self._count += 1
            name = f"{self._run_id}-p{self._count}"
            self._packings[group.tier] = Packing(group, deltas, self._job_dir, name, self._durable)
        # a late piece must not make the next one twice as big
        paid = min(self._owed, int(CATCH_UP * added))
        pieces = [
            (packing, packing.group.allowance(deltas, paid, packing.remaining))
            for packing in self._packings.values()
            if packing.packed is None
        ]
        self._owed = self._owed - paid if pieces else 0
        if pieces:
            self._thread = threading.Thread(
                target=self._run, args=(pieces, deltas), name="packer", daemon=True
            )
            self._thread.start()

    def ready(self) -> list[PackedFile]:
        """Packed files that are ready; they stay ready until `taken`."""
        if self._is_running():
            return []
        return [p.packed for p in self._packings.values() if p.packed is not None]

    def taken(self, packed: list[PackedFile]) -> None:
        """Record that a checkpoint now contains the packed files ``packed``, and continue with the
        next files.
        """
        for tier, packing in list(self._packings.items()):
            if packing.packed in packed:
                del self._packings[tier]

    def working_files(self) -> set[str]:
        """Files that no checkpoint refers to yet, relative to the job's directory, and the
        tokens of files that are being written."""
        packings = list(self._packings.values())  # the thread may drop one that failed
        paths = [path for packing in packings for path in packing.paths()]
        return {path.removeprefix(f"{os.fspath(self._job_dir)}/") for path in paths}

    def wait(self) -> None:
        """Wait until the present copying is finished."""
        if self._thread is not None:
            self._thread.join()

    def discard(self) -> None:
        """Stop the present copying and delete the ready files."""
        self._cancelled.set()
        self.wait()
        self._cancelled.clear()
        self._drop_all()
        self._thread = self._error = None

    def _is_running(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def _must_pause(self) -> bool:
        if self._error is not None:
            log.warning("packing delta files failed, to be tried again: %s", self._error)
            self._error = None
            self._pause = PAUSE_AFTER_ERROR
        if self._pause > 0:
            self._pause -= 1
            return True
        return False

    def _drop_all(self) -> None:
        for packing in self._packings.values():
            packing.discard()
        self._packings.clear()

    def _run(self, pieces: list[tuple[Packing, float]], deltas: DeltaSet) -> None:
        for packing, allowance in pieces:
            try:
                packing.step(deltas, allowance, self._proceed)
            except _CancelledError:
                return
            except Exception as error:
                self._error = error
                packing.discard()
                del self._packings[packing.group.tier]

    def _proceed(self) -> None:
        if self._cancelled.is_set():
            raise _CancelledError
