"""The thread that packs layer files while the job goes on."""

from __future__ import annotations

import logging
import os
import threading

from millrace.state.checkpoint.files import StrPath, delete_quietly
from millrace.state.checkpoint.layer_set import LayerSet
from millrace.state.checkpoint.packing import Packed, Packing, choose

__all__ = ["Packer"]

log = logging.getLogger(__name__)

PAUSE_AFTER_ERROR = 8
"""Offers that are declined after a failure, lest a lasting one fills the log."""


class _CancelledError(Exception):
    """The job ends; the copying need not be finished."""


class Packer:
    """Packs one group of files at a time. All methods are for one thread, the engine's.

    What it reads never changes, and what it writes counts only once a checkpoint refers to it, so
    nothing waits for it and its failure costs nothing but more files.
    """

    def __init__(self, job_dir: StrPath, run_id: str, durable: bool) -> None:
        self._job_dir = job_dir
        self._run_id = run_id
        self._durable = durable
        self._count = 0
        self._pause = 0
        self._thread: threading.Thread | None = None
        self._cancelled = threading.Event()
        self._result: Packed | None = None
        self._error: Exception | None = None

    def offer(self, layers: LayerSet) -> None:
        """Start packing if there is something to pack and nothing else under way."""
        if self._thread is not None:
            return
        if self._pause > 0:
            self._pause -= 1
            return
        packing = choose(layers)
        if packing is not None:
            self._count += 1
            self._thread = threading.Thread(
                target=self._run, args=(packing, self._count), name="packer", daemon=True
            )
            self._thread.start()

    def result(self) -> Packed | None:
        """What is ready, if anything; it stays until `taken`."""
        if self._thread is None or self._thread.is_alive():
            return None
        if self._error is not None:
            log.warning("packing layer files failed, to be tried again: %s", self._error)
            self._pause = PAUSE_AFTER_ERROR
            self._reset()
        return self._result

    def taken(self) -> None:
        """The result is part of a checkpoint; go on with the next."""
        self._reset()

    def wait(self) -> None:
        """Wait until nothing is under way."""
        if self._thread is not None:
            self._thread.join()

    def discard(self) -> None:
        """Stop what is under way and delete what is ready."""
        self._cancelled.set()
        self.wait()
        self._cancelled.clear()
        if self._result is not None:
            delete_quietly(os.path.join(self._job_dir, self._result.file.ref.path))
        self._reset()

    def _reset(self) -> None:
        self._thread = self._result = self._error = None

    def _run(self, packing: Packing, number: int) -> None:
        name = f"{self._run_id}-p{number}"
        try:
            self._result = packing.run(
                self._job_dir, name, self._run_id, self._durable, self._proceed
            )
        except _CancelledError:
            pass
        except Exception as error:
            self._error = error

    def _proceed(self) -> None:
        if self._cancelled.is_set():
            raise _CancelledError
