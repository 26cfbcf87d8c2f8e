"""Watches the duration of epochs: logs the stacks of stuck subtasks, and ends epochs that take too
long.

The watch has its own thread, because the job's thread waits for the epoch.
"""

from __future__ import annotations

import logging
import time
from threading import Event, Thread
from typing import TYPE_CHECKING

from millrace.engine.job_details import EpochAttempt
from millrace.engine.job_observer import JobObserver
from millrace.engine.running_epoch import describe_epoch, duration_text, stacks_text
from millrace.runtime.watchdog import clear_reports

if TYPE_CHECKING:
    from millrace.engine.job_manager import JobManager

__all__ = ["EpochWatch"]

log = logging.getLogger(__name__)

POLL = 1.0
"""Seconds between two checks."""


class EpochWatch(JobObserver):
    """Watches the epochs of one job.

    Args:
        report_after: milliseconds after which an epoch is logged with the stacks of its subtasks,
            and again whenever it has taken twice as long; 0 for never.
        timeout: milliseconds after which an epoch fails; None for no limit.
        level: level of the log messages.
    """

    def __init__(
        self,
        job: JobManager,
        report_after: int,
        timeout: int | None = None,
        level: int = logging.WARNING,
    ) -> None:
        self._job = job
        self._report_after = report_after
        self._timeout = timeout
        self._level = level
        self._attempt = (-1, -1)
        self._seen = 0.0
        self._next_report = 0
        self._closed = Event()
        self._job_dir = ""

    def started(self, job_dir: str) -> None:
        """Start to watch when the job begins. Reports that exist already come from a killed run,
        and are deleted."""
        self._job_dir = job_dir
        clear_reports(job_dir)
        Thread(target=self._run, name="millrace-epoch-watch", daemon=True).start()

    def closed(self) -> None:
        """Stop watching, because the job has ended."""
        self._closed.set()
        if self._job_dir:
            clear_reports(self._job_dir)

    def _run(self) -> None:
        while not self._closed.wait(POLL):
            self.look(time.monotonic())

    def look(self, now: float) -> None:
        """Check the running epoch once; ``now`` is in seconds of a monotonic clock."""
        running = self._job.details().running
        if running is None:
            self._attempt = (-1, -1)
            return
        if self._attempt != (running.number, running.attempt):
            self._attempt, self._seen = (running.number, running.attempt), now
            self._next_report = self._report_after
        taken = int((now - self._seen) * 1000)
        if self._next_report and taken >= self._next_report:
            self._next_report = 2 * taken
            self._report(running, taken)
        if self._timeout is not None and taken >= self._timeout:
            self._job.fail_epoch(running, _reason(running, taken, self._timeout))

    def _report(self, running: EpochAttempt, taken: int) -> None:
        stacks = stacks_text(running) or "\nno worker has reported what it is in"
        log.log(self._level, "%s%s", describe_epoch(running, running.since + taken), stacks)


def _reason(running: EpochAttempt, taken: int, timeout: int) -> str:
    return (
        f"{describe_epoch(running, running.since + taken)}: that is longer than "
        f"millrace.epoch.timeout allows ({duration_text(timeout)}){stacks_text(running)}"
    )
