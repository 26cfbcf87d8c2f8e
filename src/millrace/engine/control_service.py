"""Control service of a running job: a thread that executes the commands in its mailbox."""

from __future__ import annotations

import atexit
import logging
import os
import socket
import time
from concurrent.futures import Future
from contextlib import ExitStack
from threading import Event, Lock, Thread

from millrace.common.errors import CheckpointError, JobControlError, MillraceError
from millrace.engine.control_commands import CommandResult, execute, waits_for
from millrace.engine.control_mailbox import Mailbox, MailboxAnswer, MailboxRequest, RunNote
from millrace.engine.job_manager import JobManager
from millrace.engine.job_observer import JobObserver
from millrace.state.canonical.savepoint import prepare_to_write
from millrace.state.checkpoint.files import StrPath

__all__ = ["ControlService", "Operable"]

log = logging.getLogger(__name__)

POLL = 0.2
"""Seconds between two checks of the mailbox."""
ENDING = ("stop", "cancel")
WAITING_PERIOD = 1.0
"""Seconds between two messages to a waiting client about what the job waits for."""
STARTED = 5.0
"""Seconds after the start at which the service imports what the first savepoint needs. This
takes a second of work, which would otherwise delay the start."""
GRACE = 5.0
"""Seconds for which an ended job waits until its last answers are written."""


class ControlService:
    """Answers the requests to one run of a job, from the moment it has the lease until its end.

    Args:
        job: executes the requests.
        job_dir: the job's checkpoint directory.
        run_id: id of the run, the same as in the lease.
    """

    def __init__(
        self,
        job: JobManager,
        job_name: str,
        job_id: str,
        job_dir: StrPath,
        run_id: str,
        poll: float = POLL,
    ) -> None:
        since = int(time.time() * 1000)
        self._job = job
        self._job_dir = job_dir
        self._mailbox = Mailbox(job_dir)
        self._note = RunNote(run_id, job_name, job_id, socket.gethostname(), os.getpid(), since)
        self._poll = poll
        self._owed: dict[str, CommandResult] = {}
        self._told: dict[str, float] = {}
        """Time at which each waiting client was last told what the job waits for."""
        self._ended = Event()
        self._opening = Lock()
        self._thread = Thread(target=self._run, name="millrace-control", daemon=True)

    def start(self) -> None:
        """Begin to listen. The run must hold the lease, because the mailbox belongs to the
        holder of the lease."""
        atexit.register(self.close)
        self._thread.start()

    def end(self) -> None:
        """Send the remaining answers after the end of the job, and stop."""
        with self._opening:
            self._ended.set()

    def close(self) -> None:
        """Stop, and wait for the last answers."""
        self.end()
        self._thread.join(GRACE + 1)

    # -- in the thread -------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            self._listen()
        except (JobControlError, CheckpointError, OSError) as error:
            log.warning("the job cannot be operated from outside: %s", error)
        finally:
            atexit.unregister(self.close)

    def _listen(self) -> None:
        with ExitStack() as opened:
            if not self._opens_mailbox(opened):
                return
            begun, prepared = time.monotonic(), False
            # who has asked for something waits for it
            while not self._ended.wait(self._poll / 4 if self._owed else self._poll):
                self._take_requests()
                self._give_answers()
                if not prepared and time.monotonic() - begun > STARTED:
                    prepared = True
                    prepare_to_write()
            self._say_farewell()

    def _opens_mailbox(self, opened: ExitStack) -> bool:
        while True:
            # who sees the job ended may rely on it that its mailbox is not opened any more
            with self._opening:
                if self._ended.is_set():
                    return False
                try:
                    opened.enter_context(self._mailbox.open_for(self._note))
                    return True
                except BlockingIOError:
                    pass  # the run before gives its last answers
            self._ended.wait(self._poll / 4)

    def _take_requests(self) -> None:
        for request in self._mailbox.requests():
            if self._mailbox.take(request.id):
                if isinstance(request, MailboxAnswer):
                    self._answer(request)
                else:
                    self._answer(MailboxAnswer(request.id, "accepted"))
                    self._owed[request.id] = self._begun(request)

    def _begun(self, request: MailboxRequest) -> CommandResult:
        try:
            if request.run_id != self._note.run_id:
                raise JobControlError("the request was meant for an earlier run of the job")
            result = execute(self._job, request.command, request.arguments)
            if not (result.done() and result.exception()):
                self._log_request(request)
            return result
        except Exception as error:
            return _failed(error)

    def _log_request(self, request: MailboxRequest) -> None:
        """Log the request, so that the user of a job can see that another user ended it."""
        level = logging.WARNING if request.command in ENDING else logging.INFO
        log.log(level, "job '%s' was asked to %s", self._note.job_name, request.command)

    def _give_answers(self) -> None:
        for id, result in list(self._owed.items()):
            if not result.done():
                self._say_what_it_waits_for(id)
            elif self._answer(_answer_of(id, result)):
                del self._owed[id]
                self._told.pop(id, None)

    def _say_what_it_waits_for(self, id: str) -> None:
        """Tell the client, once a second, what its request waits for."""
        now = time.monotonic()
        if now - self._told.setdefault(id, now) >= WAITING_PERIOD:
            self._told[id] = now
            text = waits_for(self._job.details())
            self._answer(MailboxAnswer(id, "accepted", {"waits_for": text[:8_000]}))

    def _answer(self, answer: MailboxAnswer) -> bool:
        try:
            self._mailbox.answer(answer)
        except (CheckpointError, JobControlError) as error:
            log.warning("a request from outside could not be answered: %s", error)
            return False
        return True

    def _say_farewell(self) -> None:
        """Tell waiting clients that the job has ended, perhaps by their request."""
        deadline = time.monotonic() + GRACE
        self._give_answers()
        while self._owed and time.monotonic() < deadline:
            time.sleep(self._poll / 10)
            self._give_answers()
        status = self._job.details().status.name
        unheard = [request.id for request in self._mailbox.requests()]
        for id in (*self._owed, *filter(self._mailbox.take, unheard)):
            self._answer(
                MailboxAnswer(
                    id, "failed", error=f"the job has ended before it could answer: {status}"
                )
            )


class Operable(JobObserver):
    """Lets other processes operate a job, from the moment it has its lease until its end."""

    def __init__(self, job: JobManager, job_name: str, job_id: str, run_id: str) -> None:
        self._job = job
        self._names = (job_name, job_id)
        self._run_id = run_id

    def started(self, job_dir: str) -> None:
        """Start the control service with the job."""
        service = ControlService(self._job, *self._names, job_dir, self._run_id)
        self._job.result.add_done_callback(lambda _: service.end())
        service.start()


def _failed(error: Exception) -> CommandResult:
    future: CommandResult = Future()
    future.set_exception(error)
    return future


def _answer_of(id: str, result: CommandResult) -> MailboxAnswer:
    error = result.exception()
    if error is None:
        return MailboxAnswer(id, "done", result.result())
    text = str(error) if isinstance(error, MillraceError) else f"{type(error).__name__}: {error}"
    return MailboxAnswer(id, "failed", error=text[:8_000])
