"""The supervisor: starts the processes of jobs, sees how they end, and starts them again."""

from __future__ import annotations

import logging
import signal
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from threading import Event, RLock, Thread

from millrace.common.errors import JobControlError, StateError
from millrace.common.job import JobID, JobStatus
from millrace.engine.clock import Clock, SystemClock
from millrace.engine.job_record import JobRecord
from millrace.server.job_process import COMMAND, JobProcess
from millrace.server.registry import Goal, ProcessAttempt, RegisteredJob, Registry, Submission
from millrace.server.restarts import CRASHED, next_start, strategy_of

__all__ = ["Supervisor"]

log = logging.getLogger(__name__)

PERIOD = 0.2
"""Seconds between two looks at the processes."""
PATIENCE = 60_000
"""Milliseconds that a job that was cancelled has to end, before its process is killed."""


class Supervisor:
    """Keeps the jobs of a registry running; may be asked from any thread.

    Args:
        registry: which is claimed by this process.
        directory: where each job has a directory, with its checkpoints.
        command: how to call ``millrace``.
        clock: the time, in ms since the epoch of Unix.
    """

    def __init__(
        self,
        registry: Registry,
        directory: Path,
        command: Sequence[str] = COMMAND,
        clock: Clock | None = None,
    ) -> None:
        self._registry = registry
        self._directory = directory
        self._command = command
        self._now = (clock or SystemClock()).now
        self._processes: dict[str, JobProcess] = {}
        self._due: dict[str, int] = {}
        """When jobs that wait for it are started again."""
        self._told: dict[str, tuple[str, int]] = {}
        """Which run of a job that is to end was told so, and when."""
        self._lock = RLock()
        self._closed = Event()
        self._thread = Thread(target=self._follow, name="millrace-supervisor", daemon=True)

    def start(self) -> None:
        """Begin to look after the jobs; processes that still run are adopted."""
        self._thread.start()

    def close(self) -> None:
        """Look after nothing any more; the processes run on."""
        self._closed.set()
        if self._thread.is_alive():
            self._thread.join()

    # -- what is asked -----------------------------------------------------------------------------

    def submit(self, submission: Submission) -> RegisteredJob:
        """Run a job from now on."""
        job = RegisteredJob(str(JobID.generate()), submission, created=self._now())
        with self._lock:
            self._registry.put_job(job)
            self._launch(job)
        return job

    def cancel(self, id: str) -> None:
        """End a job at once, as far as it can be; nothing if it has ended.

        Raises:
            StateError: there is no such job.
        """
        with self._lock:
            job = self._registry.job(id)
            if job is None:
                raise StateError(f"there is no job {id}")
            if not job.is_over:
                self._registry.put_job(replace(job, goal=Goal.END))

    def process(self, id: str) -> JobProcess:
        """The process of a job."""
        with self._lock:
            if id not in self._processes:
                self._processes[id] = JobProcess(self._directory / id, self._command)
            return self._processes[id]

    # -- looking after -----------------------------------------------------------------------------

    def _follow(self) -> None:
        while not self._closed.wait(PERIOD):
            self.look()

    def look(self) -> None:
        """See how the jobs are that have not ended, and do what is to be done."""
        for job in self._registry.unfinished_jobs():
            try:
                with self._lock:
                    self._look_after(self._registry.job(job.id) or job)
            except Exception:  # one job's trouble is not the others'
                log.exception("job %s could not be looked after", job.id)

    def _look_after(self, job: RegisteredJob) -> None:
        process = self.process(job.id)
        if process.is_alive():
            self._follow_process(job, process)
        elif self._running_attempt(job) is not None:
            self._take_end(job, process)
        elif job.goal is Goal.END:
            self._end(job, JobStatus.CANCELED)
        elif self._is_due(job):
            self._launch(job)

    def _follow_process(self, job: RegisteredJob, process: JobProcess) -> None:
        attempt = self._running_attempt(job)
        if job.goal is Goal.END:
            self._tell_to_end(job, process)
            return
        archive = process.archive()
        if archive is None or attempt is None or archive.time < attempt.started:
            return
        status = archive.details.status
        if status is not job.status and not status.is_terminal_state():
            self._registry.put_job(replace(job, status=status))

    def _tell_to_end(self, job: RegisteredJob, process: JobProcess) -> None:
        if job.status is not JobStatus.CANCELLING:
            self._registry.put_job(replace(job, status=JobStatus.CANCELLING))
        told, since = self._told.get(job.id, ("", 0))
        if told and self._now() - since > PATIENCE:
            log.warning("job %s did not end when it was cancelled: its process is killed", job.id)
            process.signal(signal.SIGKILL)
            return
        mailbox = process.mailbox()
        run = mailbox.running() if mailbox is not None else None
        if mailbox is not None and run is not None and told != run.run_id:
            self._told[job.id] = (run.run_id, self._now())
            try:
                mailbox.send(run.run_id, "cancel", {})
            except JobControlError as error:
                log.warning("job %s cannot be told to end: %s", job.id, error)
        elif run is None and not told:
            self._told[job.id] = ("process", self._now())
            process.signal(signal.SIGTERM)

    def _take_end(self, job: RegisteredJob, process: JobProcess) -> None:
        """See how a process has ended, and what follows for its job."""
        attempt = self._running_attempt(job)
        assert attempt is not None
        code = process.exit_code()
        record = process.record()
        own = record if record is not None and record.since >= attempt.started else None
        status = JobStatus[own.status] if own is not None else None
        if status is not None and status.is_terminal_state():
            suspended = status is JobStatus.SUSPENDED and job.goal is Goal.END
            status = JobStatus.CANCELED if suspended else status
            self._close_attempt(attempt, status.name.lower())
            self._end(job, status, _error(own))
        elif job.goal is Goal.END:
            self._close_attempt(attempt, "cancelled")
            self._end(job, JobStatus.CANCELED)
        elif own is None and code is not None and code >= 0:
            self._close_attempt(attempt, f"exit code {code}")
            done = JobStatus.FINISHED if code == 0 else JobStatus.FAILED
            self._end(job, done, "" if code == 0 else process.log_tail())
        else:
            self._close_attempt(attempt, f"{CRASHED}: {_death(code)}")
            self._restart_later(job, process, _death(code))

    def _restart_later(self, job: RegisteredJob, process: JobProcess, death: str) -> None:
        strategy = strategy_of(process.archive())
        start = next_start(strategy, self._registry.attempts(job.id))
        if start is None:
            text = f"its process has died ({death}), and its strategy says: "
            self._end(job, JobStatus.FAILED, text + strategy.get_description())
            return
        log.warning("the process of job %s has died (%s); it is started again", job.id, death)
        self._due[job.id] = start
        self._registry.put_job(replace(job, status=JobStatus.RESTARTING))

    def _is_due(self, job: RegisteredJob) -> bool:
        if job.id not in self._due:  # an earlier server had to start it
            strategy = strategy_of(self.process(job.id).archive())
            self._due[job.id] = next_start(strategy, self._registry.attempts(job.id)) or 0
        return self._now() >= self._due[job.id]

    def _launch(self, job: RegisteredJob) -> None:
        # noted before it is done: a server that is killed in between finds out what came of it
        self._due.pop(job.id, None)
        self._told.pop(job.id, None)
        number = len(self._registry.attempts(job.id))
        attempt = ProcessAttempt(job.id, number, 0, self._now())
        self._registry.put_attempt(attempt)
        try:
            pid = self.process(job.id).start(job.submission)
        except OSError as error:
            self._close_attempt(attempt, "it could not be started")
            self._end(job, JobStatus.FAILED, f"its process cannot be started: {error}")
            return
        if pid is not None:
            self._registry.put_attempt(replace(attempt, pid=pid))

    def _running_attempt(self, job: RegisteredJob) -> ProcessAttempt | None:
        attempts = self._registry.attempts(job.id)
        return attempts[-1] if attempts and attempts[-1].ended is None else None

    def _close_attempt(self, attempt: ProcessAttempt, outcome: str) -> None:
        self._registry.put_attempt(replace(attempt, ended=self._now(), outcome=outcome))

    def _end(self, job: RegisteredJob, status: JobStatus, error: str = "") -> None:
        log.info("job %s has ended: %s", job.id, status.name)
        self._registry.put_job(replace(job, status=status, ended=self._now(), error=error))


def _error(record: JobRecord | None) -> str:
    return record.error if record is not None else ""


def _death(code: int | None) -> str:
    if code is None:
        return "how is unknown"
    return f"signal {-code}" if code < 0 else f"exit code {code}"
