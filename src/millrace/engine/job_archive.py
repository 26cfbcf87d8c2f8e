"""Keeps ``details.json`` of a running job up to date, for other processes."""

from __future__ import annotations

import logging
import os
import time
from dataclasses import replace
from threading import Event, Thread

import msgspec

from millrace.common.errors import CheckpointError
from millrace.common.job import JobStatus
from millrace.engine.archived_job import ARCHIVE, ArchivedJob
from millrace.engine.job_details import JobDetails
from millrace.engine.job_manager import JobManager
from millrace.engine.job_observer import JobObserver
from millrace.state.checkpoint.files import write_file

__all__ = ["JobArchive"]

log = logging.getLogger(__name__)

PERIOD = 1.0
"""Seconds between two checks for new details."""


class JobArchive(JobObserver):
    """Writes the details of a job, at most once a second and once more at its end.

    Args:
        job: manager of the job.
        known: properties of the job that stay the same during a run.
        period: seconds between two writes.
    """

    def __init__(self, job: JobManager, known: ArchivedJob, period: float = PERIOD) -> None:
        self._job = job
        self._known = known
        self._period = period
        self._path = ""
        self._written: JobDetails | None = None
        self._closed = Event()
        self._thread = Thread(target=self._follow, name="millrace-archive", daemon=True)

    def started(self, job_dir: str) -> None:
        self._path = os.path.join(job_dir, ARCHIVE)
        self._write()
        self._thread.start()

    def ended(self, status: JobStatus, error: BaseException | None) -> None:
        # its manager enters that state only when all observers have heard
        if self._path:
            self._write(status)

    def closed(self) -> None:
        self._closed.set()
        if self._path:
            self._thread.join(self._period)

    def _follow(self) -> None:
        while not self._closed.wait(self._period):
            self._write()

    def _write(self, end: JobStatus | None = None) -> None:
        """Write new details. A failure does not affect the job."""
        details = self._job.details()
        now = int(time.time() * 1000)
        if end is not None and details.status is not end:
            details = replace(details, status=end, since={**details.since, end: now})
        if details == self._written:
            return
        archived = msgspec.structs.replace(self._known, details=details, time=now)
        try:
            write_file(self._path, (archived.encoded(),), durable=False)
            self._written = details
        except (CheckpointError, OSError, TypeError, ValueError, RecursionError) as problem:
            log.warning("the job's details could not be written: %s", problem)
