"""Writes a savepoint in a background thread while the job continues."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Mapping
from threading import Thread
from typing import Any

from millrace.common.errors import CheckpointError
from millrace.common.savepoint_format_type import SavepointFormatType
from millrace.common.types.type_information import TypeInformation
from millrace.engine.job_requests import SavepointRequest, answer, refuse
from millrace.engine.own_savepoints import note_own
from millrace.engine.savepoint_process import write_in_process
from millrace.filesystem.location import is_local
from millrace.state.canonical.savepoint import write_canonical_savepoint
from millrace.state.checkpoint.manifest import Manifest
from millrace.state.checkpoint.pin import Pin
from millrace.state.checkpoint.retention import ORPHAN_AGE
from millrace.state.checkpoint.savepoint import write_savepoint
from millrace.state.checkpoint.savepoints import delete_incomplete

SMALL = 2 << 20
"""Bytes of state up to which writing takes less time than the start of another process."""

log = logging.getLogger(__name__)


class AsyncSavepointWriter:
    """Writes a savepoint of one checkpoint in the job's directory.

    The writer is started only after the sinks have committed all committables of the checkpoint. A
    savepoint has no pending committables, so jobs restored from it commit nothing a second time.

    Args:
        key_types: types of the operators' keys, by uid.
        finished: called in the writer's thread with the savepoint's id (None: it failed) before
            the request is answered.
    """

    def __init__(
        self,
        request: SavepointRequest,
        path: str,
        job_dir: str,
        pin: Pin,
        key_types: Mapping[str, TypeInformation[Any] | None],
        finished: Callable[[str | None], None],
    ) -> None:
        self.request = request
        self._path = path
        self._job_dir = job_dir
        self._pin = pin
        self._key_types = key_types
        self._finished = finished
        self.busy = True
        """Whether the savepoint has not ended yet."""
        self.started = False
        self.failed = False
        """Whether the writer has ended without a savepoint."""
        self._thread = Thread(target=self._run, name="savepoint-writer", daemon=True)

    @property
    def path(self) -> str:
        """Directory of the savepoint."""
        return self._path

    @property
    def checkpoint(self) -> int:
        """Number of the checkpoint from which the savepoint is made."""
        return self._pin.manifest.checkpoint

    @property
    def epoch(self) -> int:
        """First epoch that is not part of the savepoint."""
        return self._pin.manifest.epoch

    @property
    def waits_for(self) -> str:
        """Description, for people, of the condition for which the savepoint waits; empty if it has
        ended.
        """
        if not self.busy:
            return ""
        if self.started:
            return f"the savepoint {self._path} to be written"
        return f"the sinks to commit what checkpoint {self.checkpoint} names"

    def start(self) -> None:
        """Begin to copy, unless this has begun already."""
        if not self.started:
            self.started = True
            self._thread.start()

    def close(self) -> bool:
        """Wait until the savepoint is complete or has failed; False if it has not begun, and
        never will."""
        if self.started:
            self._thread.join()
        else:
            self._pin.release()
        return self.started

    def _run(self) -> None:
        try:
            manifest = self._write()
        except BaseException as error:
            log.warning("the savepoint %s failed: %s", self._path, error)
            self._end(None)
            refuse(self.request, error)
        else:
            self._note(manifest)
            self._end(manifest.snapshot_id)
            answer(self.request, self._path)

    def _note(self, manifest: Manifest) -> None:
        """Write notes about the savepoint. It is complete even if this fails."""
        try:
            note_own(self._job_dir, self._path)
        except (CheckpointError, OSError) as error:
            log.warning(
                "the savepoint %s is complete, but could not be noted as the job's own (%s): a run "
                "that starts from it may need execution.state-recovery.allow-pickle",
                self._path,
                error,
            )
        latest = time.time() - ORPHAN_AGE
        for path in delete_incomplete(os.path.dirname(self._path), manifest.job_id, latest):
            log.info("deleted %s, which a run that was killed had not completed", path)

    def _write(self) -> Manifest:
        pin = self._pin
        if self.request.format_type is SavepointFormatType.NATIVE:
            return write_savepoint(self._path, self._job_dir, pin)
        size = sum(delta.size() for deltas in pin.deltas.values() for delta in deltas)
        # another process may not know a file system that was registered in this one
        here = size <= SMALL or not (is_local(self._job_dir) and is_local(self._path))
        write = write_canonical_savepoint if here else write_in_process
        return write(self._path, self._job_dir, pin.manifest, pin.deltas, self._key_types)

    def _end(self, snapshot_id: str | None) -> None:
        self._pin.release()
        self.failed, self.busy = snapshot_id is None, False
        self._finished(snapshot_id)
