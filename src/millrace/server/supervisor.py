"""The supervisor: starts the processes of jobs, detects their end, and restarts them."""

from __future__ import annotations

import logging
import signal
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event, RLock, Thread

from millrace.common.config.configuration import Configuration
from millrace.common.config.restart_strategy import RestartStrategyConfiguration
from millrace.common.errors import JobControlError, StateError
from millrace.common.job import JobID, JobStatus
from millrace.engine.clock import Clock, SystemClock
from millrace.engine.exit_note import ExitNote
from millrace.engine.job_record import JobRecord
from millrace.engine.process_identity import process_space
from millrace.server.job_process import COMMAND, JobProcess
from millrace.server.registry import (
    JobGoal,
    LeadershipLostError,
    ProcessAttempt,
    RegisteredJob,
    Submission,
)
from millrace.server.restarts import CRASHED, next_start, strategy_in, strategy_of
from millrace.server.sql_registry import SqlRegistry

__all__ = ["Supervisor"]

log = logging.getLogger(__name__)

PERIOD = 0.2
"""Seconds between two checks of the processes."""
PATIENCE = 60_000
"""Milliseconds in which a cancelled job must end; after that, its process is killed."""
_TERMINATED = 128 + signal.SIGTERM
"""Exit code after SIGTERM, with which a system that shuts down ends the processes of jobs, too."""
FORGET_PERIOD = 10_000
"""Milliseconds between two searches for ended jobs that have expired."""


@dataclass(slots=True)
class Term:
    """A span of time in which a server leads without interruption."""

    token: int
    """Fencing token of the server."""
    leads: Callable[[], bool]
    """Whether the term still lasts."""
    fenced: set[str] = field(default_factory=set)
    """Jobs whose processes from before this term can no longer publish."""


class Supervisor:
    """Keeps the jobs of a registry running while this server leads; safe for several threads.

    Args:
        registry: the registry; a server without others must have claimed it.
        directory: parent of the jobs' directories, the same for all servers of the registry.
        command: command line that starts ``millrace``.
        clock: the time, in ms since the epoch of Unix.
        follows: whether a thread of its own looks after the jobs; otherwise callers call `look`.
        capacity: number of ended jobs that are kept.
        expiration: milliseconds after which an ended job is forgotten; None for never.
        defaults: settings of all jobs, which those of their programs override.
    """

    def __init__(
        self,
        registry: SqlRegistry,
        directory: Path,
        command: Sequence[str] = COMMAND,
        clock: Clock | None = None,
        follows: bool = True,
        capacity: int = 1_000,
        expiration: int | None = None,
        defaults: Configuration | None = None,
    ) -> None:
        self._registry = registry
        self.follows = follows
        self._directory = directory
        self._command = command
        self._capacity = capacity
        self._expiration = expiration
        self._forgot = 0
        """Time at which expired jobs were last forgotten."""
        defaults = Configuration(defaults)
        self._defaults = defaults.to_dict()
        self._strategy = strategy_in(defaults)
        self._now = (clock or SystemClock()).now
        self._processes: dict[str, JobProcess] = {}
        self._due: dict[str, tuple[int, int]] = {}
        """Time of the next start of each job that waits for it, and the time at which this was
        decided."""
        self._told: dict[str, tuple[str, int]] = {}
        """The run of each ending job that was told to end, and the time of the request."""
        self.on_end: Callable[[RegisteredJob], None] = lambda job: None
        """Called with each job that has ended; must be quick."""
        self._term: Term | None = None
        self._left: set[str] = set()
        """Jobs whose processes this server ended when it lost the leadership."""
        self._lock = RLock()
        self._closed = Event()
        self._thread = Thread(target=self._follow, name="millrace-supervisor", daemon=True)

    def close(self) -> None:
        """Stop supervising; the processes keep running."""
        self._closed.set()
        if self._thread.is_alive():
            self._thread.join()

    def lead(self, token: int, leads: Callable[[], bool] = lambda: True) -> None:
        """Begin to supervise the jobs; processes that still run are adopted.

        Args:
            token: which processes of earlier leaders on other machines do not have.
            leads: whether this server still leads; called immediately before each decision.
        """
        with self._lock:
            self._due.clear()
            self._told.clear()
            self._term = Term(token, leads)
            if self.follows and self._thread.ident is None:
                self._thread.start()

    def stand_by(self) -> None:
        """Stop supervising, because another server leads. The processes keep running."""
        self._term = None  # without the lock, which a thread may hold that waits for the database

    def end_processes(self) -> None:
        """Kill the processes of jobs on this machine; the new leader continues the jobs from their
        checkpoints.
        """
        for id, process in list(self._processes.items()):
            if process.is_alive():
                log.warning("this server no longer leads: the process of job %s is killed", id)
                self._left.add(id)
                process.signal(signal.SIGKILL)

    # -- what is asked -----------------------------------------------------------------------------

    def submit(self, submission: Submission) -> RegisteredJob:
        """Begin to run a job.

        Raises:
            LeadershipLostError: another server leads.
            CheckpointError: the job can have no directory.
        """
        job = RegisteredJob(str(JobID.generate()), submission, created=self._now())
        with self._lock:
            self._fence(job)  # first: a job whose directory cannot be had is refused, not kept
            self._registry.put_job(job)
            self._launch(job)
        return job

    def cancel(self, id: str) -> None:
        """End a job immediately if possible; does nothing if the job has ended.

        Raises:
            StateError: there is no job with this id.
        """
        with self._lock:
            job = self._registry.job(id)
            if job is None:
                raise StateError(f"there is no job {id}")
            if not job.is_over:
                self._registry.put_job(replace(job, goal=JobGoal.END))

    def process(self, id: str) -> JobProcess:
        """The process of a job."""
        with self._lock:
            if id not in self._processes:
                self._processes[id] = JobProcess(
                    self._directory / id, self._command, self._defaults
                )
            return self._processes[id]

    # -- looking after -----------------------------------------------------------------------------

    def _follow(self) -> None:
        while not self._closed.wait(PERIOD):
            try:
                self.look()
            except Exception:  # a database that is restarted comes back
                log.exception("the registry cannot be read")

    def look(self) -> None:
        """Check all unfinished jobs, and start or end processes as needed."""
        term = self._term
        if term is None:
            return
        self._forget_expired()
        for job in self._registry.unfinished_jobs():
            try:
                with self._lock:
                    self._look_after(self._registry.job(job.id) or job)
            except LeadershipLostError as error:
                self._leave(term, error)
                return
            except Exception:  # one job's trouble is not the others'
                log.exception("job %s could not be supervised", job.id)

    def _leave(self, term: Term, error: LeadershipLostError) -> None:
        """End a term that the registry declares over. If the server only seems not to lead at
        the moment, the term may continue."""
        with self._lock:
            if self._term is term and term.leads():
                log.warning("the jobs are left to another server: %s", error)
                self._term = None

    def _look_after(self, job: RegisteredJob) -> None:
        process = self.process(job.id)
        attempt = self._running_attempt(job)
        if process.is_alive():
            if attempt is not None and not _is_elsewhere(attempt):
                self._follow_process(job, process, attempt)
            else:  # of an earlier leader, which was slow to start it
                process.signal(signal.SIGKILL)
            return
        self._fence(job)
        if attempt is not None:
            self._take_end(job, process, attempt)
        elif job.goal is JobGoal.END:
            self._end(job, JobStatus.CANCELED)
        elif self._is_due(job):
            self._launch(job)

    def _fence(self, job: RegisteredJob) -> None:
        """Fence processes that an earlier leader has started or may still start."""
        term = self._term
        if term is None or not term.leads():
            raise LeadershipLostError("this server does not lead")
        if job.id not in term.fenced:
            self.process(job.id).fence(term.token)
            term.fenced.add(job.id)

    def _follow_process(
        self, job: RegisteredJob, process: JobProcess, attempt: ProcessAttempt
    ) -> None:
        process.rotate_log()
        if job.goal is JobGoal.END:
            self._tell_to_end(job, process)
            return
        archive = process.archive()
        if archive is None or archive.time < attempt.started:
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
                log.warning("job %s cannot be asked to end: %s", job.id, error)
        elif run is None and not told:
            self._told[job.id] = ("process", self._now())
            process.signal(signal.SIGTERM)

    def _take_end(self, job: RegisteredJob, process: JobProcess, attempt: ProcessAttempt) -> None:
        """Evaluate how a process has ended, and restart or end its job."""
        note = process.exit_note()
        noted = note is not None and _is_of(note, attempt)
        # what is noted, another server knows, too
        code = note.code if note is not None and noted else process.exit_code(attempt.pid)
        record = process.record()
        own = record if record is not None and _is_of(record, attempt) else None
        status = JobStatus[own.status] if own is not None else None
        if own is not None and own.lost and job.goal is not JobGoal.END:
            death = own.error.partition(". ")[0]
            self._close_attempt(attempt, f"{CRASHED}: {death}")
            self._restart_later(job, process, death)
        elif status is not None and status.is_terminal_state():
            suspended = status is JobStatus.SUSPENDED and job.goal is JobGoal.END
            status = JobStatus.CANCELED if suspended else status
            self._end(job, status, _error(own), (attempt, status.name.lower()))
        elif job.goal is JobGoal.END:
            self._end(job, JobStatus.CANCELED, "", (attempt, "cancelled"))
        elif _is_elsewhere(attempt):
            log.warning(
                "job %s ran on %s, whose server no longer leads; it continues here",
                job.id,
                attempt.host,
            )
            self._close_attempt(attempt, f"left behind on {attempt.host}")
        elif job.id in self._left:
            self._left.discard(job.id)
            self._close_attempt(attempt, "ended when its server no longer led")
        elif own is None and code is not None and (code == 0 or (_fails(code) and record is None)):
            done = JobStatus.FINISHED if code == 0 else JobStatus.FAILED
            error = "" if code == 0 else process.failure()
            self._end(job, done, error, (attempt, f"exit code {code}"))
        else:
            self._close_attempt(attempt, f"{CRASHED}: {_death(code)}")
            self._restart_later(job, process, _death(code))

    def _restart_later(self, job: RegisteredJob, process: JobProcess, death: str) -> None:
        strategy = strategy_of(process.archive(), self._strategy)
        start = next_start(strategy, self._registry.attempts(job.id))
        if start is None:
            self._give_up(job, strategy, death)
            return
        log.warning("the process of job %s has died (%s); it is restarted", job.id, death)
        self._due[job.id] = (start, self._now())
        self._registry.put_job(replace(job, status=JobStatus.RESTARTING))

    def _give_up(
        self, job: RegisteredJob, strategy: RestartStrategyConfiguration, death: str
    ) -> None:
        text = f"its process has died ({death}) and is not restarted: its restart strategy is "
        text += f"'{strategy.get_description().rstrip('.')}'"
        if "SIGKILL" in death:
            text += ". The kernel also sends this signal when memory runs out: see the kernel's log"
        self._end(job, JobStatus.FAILED, text)

    def _is_due(self, job: RegisteredJob) -> bool:
        if job.id not in self._due:  # an earlier server had to start it, or to end it
            strategy = strategy_of(self.process(job.id).archive(), self._strategy)
            attempts = self._registry.attempts(job.id)
            start = next_start(strategy, attempts)
            if start is None:
                self._give_up(job, strategy, attempts[-1].outcome)
                return False
            self._due[job.id] = (start, self._now())
        start, noted = self._due[job.id]
        return not noted <= self._now() < start  # nor does it wait for a clock that was set back

    def _launch(self, job: RegisteredJob) -> None:
        # noted before it is done: a server that is killed in between finds out what came of it
        self._due.pop(job.id, None)
        self._told.pop(job.id, None)
        self._left.discard(job.id)
        attempt = self._new_attempt(job)
        self._registry.put_attempt(attempt)
        self._fence(job)
        try:
            pid = self.process(job.id).start(job.submission, attempt.token)
        except OSError as error:
            text = f"its process cannot be started: {error}"
            self._end(job, JobStatus.FAILED, text, (attempt, "it could not be started"))
            return
        if pid is None:
            self._close_attempt(attempt, "the job had a process already")
            return
        self._registry.put_attempt(replace(attempt, pid=pid))

    def _new_attempt(self, job: RegisteredJob) -> ProcessAttempt:
        return ProcessAttempt(
            job=job.id,
            number=len(self._registry.attempts(job.id)),
            pid=0,
            started=self._now(),
            host=socket.gethostname(),
            space=process_space(),
            token=self._term.token if self._term is not None else 0,
        )

    def _running_attempt(self, job: RegisteredJob) -> ProcessAttempt | None:
        attempts = self._registry.attempts(job.id)
        return attempts[-1] if attempts and attempts[-1].ended is None else None

    def _close_attempt(self, attempt: ProcessAttempt, outcome: str) -> None:
        self._registry.put_attempt(replace(attempt, ended=self._now(), outcome=outcome))

    def _end(
        self,
        job: RegisteredJob,
        status: JobStatus,
        error: str = "",
        last: tuple[ProcessAttempt, str] | None = None,
    ) -> None:
        """Record the end of a job, and then the end of its last attempt with the attempt's
        outcome."""
        log.info("job %s has ended: %s", job.id, status.name)
        # the job first: killed in between, the next server must not take it for one to start
        ended = replace(job, status=status, ended=self._now(), error=error)
        self._registry.put_job(ended)
        if last is not None:
            self._close_attempt(*last)
        self.on_end(ended)
        self._forget_jobs()

    def _forget_expired(self) -> None:
        if self._expiration is None or self._now() - self._forgot < FORGET_PERIOD:
            return
        self._forgot = self._now()
        try:
            with self._lock:
                self._forget_jobs()
        except LeadershipLostError:  # the jobs are looked after next, which says it
            return

    def _forget_jobs(self) -> None:
        before = None if self._expiration is None else self._now() - self._expiration
        for id in self._registry.forget_jobs(self._capacity, before):
            log.info("job %s ended long ago and is forgotten; its directory stays", id)
            self._processes.pop(id, None)
            self._left.discard(id)
            if self._term is not None:
                self._term.fenced.discard(id)


def _is_elsewhere(attempt: ProcessAttempt) -> bool:
    """Whether this server can neither see nor signal a process: it runs on another machine, or
    started before this one rebooted."""
    return bool(attempt.space and attempt.space != process_space())


def _is_of(record: JobRecord | ExitNote, attempt: ProcessAttempt) -> bool:
    """Whether an attempt's process wrote a record: process id and host must match, because
    clocks of machines differ."""
    same = attempt.pid in (0, record.pid) and attempt.host in ("", record.host)
    return same and record.since >= attempt.started


def _error(record: JobRecord | None) -> str:
    return record.error if record is not None else ""


def _fails(code: int) -> bool:
    """Whether a program ends with this exit code because of a fault of its own."""
    return code > 0 and code != _TERMINATED


def _death(code: int | None) -> str:
    if code is None:
        return "how is unknown"
    if code == _TERMINATED:
        code = -signal.SIGTERM
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"signal {-code}, {signal.Signals(-code).name}"
    except ValueError:  # one that has no name
        return f"signal {-code}"
