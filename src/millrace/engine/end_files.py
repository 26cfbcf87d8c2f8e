"""The files by which the driver has source subtasks end their reading."""

from __future__ import annotations

import os
import secrets
import tempfile

from millrace.filesystem.location import is_local
from millrace.runtime.reading_end import SUFFIX
from millrace.runtime.watchdog import REPORTS

__all__ = ["EndFiles"]


class EndFiles:
    """Names a file for each attempt of an epoch; see `millrace.runtime.reading_end`.

    Args:
        batch: the job reads all there is in one epoch, and that must not be divided.
    """

    def __init__(self, batch: bool = False) -> None:
        self._batch = batch
        self._token = secrets.token_hex(8)
        """So that nobody else's file has the name."""

    def path(self, job_dir: str, epoch: int, attempt: int) -> str | None:
        """The file for an attempt; None: it reads up to its limit."""
        if self._batch:
            return None
        # beside an object store: good for workers on this machine
        local = is_local(job_dir)
        directory = os.path.join(job_dir, REPORTS) if local else tempfile.gettempdir()
        return os.path.join(directory, f"millrace-{self._token}-{epoch}-{attempt}{SUFFIX}")
