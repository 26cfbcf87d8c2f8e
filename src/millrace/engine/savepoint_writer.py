"""Writes a savepoint in a thread of its own while the job goes on."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from threading import Thread

from millrace.engine.job_requests import SavepointRequest, answer, refuse
from millrace.state.checkpoint.pin import Pin
from millrace.state.checkpoint.savepoint import write_savepoint

log = logging.getLogger(__name__)


class AsyncSavepointWriter:
    """Copies one checkpoint out of the job's directory.

    Args:
        finished: called in the writer's thread with the savepoint's id (None: it failed) before
            the request is answered.
    """

    def __init__(
        self,
        request: SavepointRequest,
        path: Path,
        job_dir: str,
        pin: Pin,
        finished: Callable[[str | None], None],
    ) -> None:
        self._request = request
        self._path = path
        self._job_dir = job_dir
        self._pin = pin
        self._finished = finished
        self.busy = True
        """Whether it still copies."""
        self.failed = False
        """Whether it has ended without a savepoint."""
        self._thread = Thread(target=self._run, name="savepoint-writer", daemon=True)

    def start(self) -> AsyncSavepointWriter:
        """Begin to copy."""
        self._thread.start()
        return self

    def wait(self) -> None:
        """Until the savepoint is complete or has failed."""
        self._thread.join()

    def _run(self) -> None:
        try:
            manifest = write_savepoint(self._path, self._job_dir, self._pin)
        except BaseException as error:
            log.warning("the savepoint %s failed: %s", self._path, error)
            self._end(None)
            refuse(self._request, error)
        else:
            self._end(manifest.snapshot_id)
            answer(self._request, str(self._path))

    def _end(self, snapshot_id: str | None) -> None:
        self._pin.release()
        self.failed, self.busy = snapshot_id is None, False
        self._finished(snapshot_id)
