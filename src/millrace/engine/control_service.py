"""The running job's ear: a small thread that carries out what others put into its mailbox."""

from __future__ import annotations

import atexit
import logging
import os
import socket
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import ExitStack
from threading import Event, Thread
from typing import Any, Protocol

from millrace.common.errors import CheckpointError, JobControlError, MillraceError
from millrace.common.job import JobExecutionResult, JobStatus
from millrace.engine.control_mailbox import Answer, Mailbox, Request, RunNote
from millrace.engine.job_observer import JobObserver
from millrace.engine.progress import Progress
from millrace.state.checkpoint.files import StrPath

__all__ = ["COMMANDS", "ControlService", "ControlledJob", "Operable"]

log = logging.getLogger(__name__)

POLL = 0.2
"""Seconds between two looks into the mailbox."""
ENDING = ("stop", "cancel")
GRACE = 5.0
"""Seconds that a job which has ended waits for the answers that it still owes."""

Result = Future[dict[str, Any]]


class ControlledJob(Protocol):
    """What a job must be able to do; `millrace.engine.job_client.JobClient` can."""

    def get_job_status(self) -> Future[JobStatus]: ...
    def when_done(self, callback: Callable[[], None]) -> None: ...
    def get_job_execution_result(self) -> Future[JobExecutionResult]: ...
    def progress(self) -> Progress: ...
    def cancel(self) -> Future[None]: ...
    def stop(self) -> None: ...
    def trigger_savepoint(self, savepoint_directory: str | None = None) -> Future[str]: ...
    def stop_with_savepoint(
        self,
        advance_to_end_of_event_time: bool = False,
        savepoint_directory: str | None = None,
    ) -> Future[str]: ...
    def rescale(self, parallelism: int) -> Future[None]: ...


class ControlService:
    """Answers the requests to one run of one job, from when it has the lease to its end.

    Args:
        job: carries out what is asked for.
        job_dir: the job's checkpoint directory.
        run_id: of the run, as it is in the lease.
    """

    def __init__(
        self,
        job: ControlledJob,
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
        self._owed: dict[str, Result] = {}
        self._ended = Event()
        self._thread = Thread(target=self._run, name="millrace-control", daemon=True)

    def start(self) -> None:
        """Begin to listen; the run must have the lease: who does not get it must not touch the
        mailbox of who has it."""
        atexit.register(self.close)
        self._thread.start()

    def end(self) -> None:
        """The job has ended: give the answers that are owed, and go."""
        self._ended.set()

    def close(self) -> None:
        """End, and wait for the last answers."""
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
            while not self._ended.wait(self._poll):
                self._take_requests()
                self._give_answers()
            self._say_farewell()

    def _opens_mailbox(self, opened: ExitStack) -> bool:
        while True:
            try:
                opened.enter_context(self._mailbox.open_for(self._note))
                return True
            except BlockingIOError:  # the run before gives its last answers
                if self._ended.wait(self._poll / 4):
                    return False

    def _take_requests(self) -> None:
        for request in self._mailbox.requests():
            if self._mailbox.take(request.id):
                if isinstance(request, Answer):
                    self._answer(request)
                else:
                    self._answer(Answer(request.id, "accepted"))
                    self._owed[request.id] = self._begun(request)

    def _begun(self, request: Request) -> Result:
        try:
            if request.run_id != self._note.run_id:
                raise JobControlError("the request was meant for an earlier run of the job")
            result = _operation(request)(self._job)
            self._tell(request)
            return result
        except Exception as error:
            return _failed(error)

    def _tell(self, request: Request) -> None:
        """Whoever sits before a job that ends should know that somebody else wanted it to."""
        level = logging.WARNING if request.command in ENDING else logging.INFO
        log.log(level, "job '%s' was asked to %s", self._note.job_name, request.command)

    def _give_answers(self) -> None:
        for id, result in list(self._owed.items()):
            if result.done() and self._answer(_answer_of(id, result)):
                del self._owed[id]

    def _answer(self, answer: Answer) -> bool:
        try:
            self._mailbox.answer(answer)
        except (CheckpointError, JobControlError) as error:
            log.warning("a request from outside could not be answered: %s", error)
            return False
        return True

    def _say_farewell(self) -> None:
        """What was asked for may have been what ended the job: its answer comes any moment."""
        deadline = time.monotonic() + GRACE
        self._give_answers()
        while self._owed and time.monotonic() < deadline:
            time.sleep(self._poll / 10)
            self._give_answers()
        status = self._job.get_job_status().result().name
        unheard = [request.id for request in self._mailbox.requests()]
        for id in (*self._owed, *filter(self._mailbox.take, unheard)):
            self._answer(Answer(id, "failed", error=f"the job has ended meanwhile: {status}"))


class Operable(JobObserver):
    """Lets a job be operated from other processes from when it has its lease to its end."""

    def __init__(self, job: ControlledJob, job_name: str, job_id: str, run_id: str) -> None:
        self._job = job
        self._names = (job_name, job_id)
        self._run_id = run_id

    def started(self, job_dir: str) -> None:
        """The job begins."""
        service = ControlService(self._job, *self._names, job_dir, self._run_id)
        self._job.when_done(service.end)
        service.start()


# -- what can be asked for -----------------------------------------------------------------------


def _savepoint(job: ControlledJob, directory: str | None) -> Result:
    return _named("savepoint", job.trigger_savepoint(directory))


def _stop(job: ControlledJob, savepoint: bool, directory: str | None, drain: bool) -> Result:
    if savepoint:
        return _named("savepoint", job.stop_with_savepoint(drain, directory))
    if drain:
        raise JobControlError("a job can only be drained together with a savepoint")
    job.stop()
    return _ended(job)


def _cancel(job: ControlledJob) -> Result:
    job.cancel()
    return _ended(job)


def _rescale(job: ControlledJob, parallelism: int) -> Result:
    return _mapped(job.rescale(parallelism), lambda _: {"parallelism": parallelism})


def _status(job: ControlledJob) -> Result:
    progress = job.progress()
    status: Result = Future()
    status.set_result(
        {
            "status": job.get_job_status().result().name,
            "epoch": progress.epoch,
            "checkpoint": progress.checkpoint,
            "records": progress.records,
            "records_per_second": progress.records_per_second,
            "watermark": progress.watermark,
            "restarts": progress.restarts,
        }
    )
    return status


_TEXT = (str, type(None))
COMMANDS: dict[str, tuple[Callable[..., Result], dict[str, tuple[type, ...]]]] = {
    "savepoint": (_savepoint, {"directory": _TEXT}),
    "stop": (_stop, {"savepoint": (bool,), "directory": _TEXT, "drain": (bool,)}),
    "cancel": (_cancel, {}),
    "rescale": (_rescale, {"parallelism": (int,)}),
    "status": (_status, {}),
}
"""What a job can be asked, and the arguments of each request, all of which must be given."""


def _operation(request: Request) -> Callable[[ControlledJob], Result]:
    """Raises JobControlError for a command that does not exist, or wrong arguments of one."""
    if request.command not in COMMANDS:
        raise JobControlError(
            f"the job does not know the request {request.command!r}, only {', '.join(COMMANDS)}; "
            "does it run another version of Millrace?"
        )
    operation, arguments = COMMANDS[request.command]
    given = request.arguments
    if set(given) != set(arguments) or any(
        type(given[name]) not in types for name, types in arguments.items()
    ):
        wanted = ", ".join(f"{name} ({t[0].__name__})" for name, t in arguments.items()) or "none"
        raise JobControlError(f"the arguments of {request.command} must be: {wanted}")
    return lambda job: operation(job, **given)


def _named(name: str, future: Future[str]) -> Result:
    return _mapped(future, lambda value: {name: value})


def _ended(job: ControlledJob) -> Result:
    """A result when the job has ended, in whatever way."""
    end: Result = Future()

    def tell(_: Future[Any]) -> None:
        end.set_result({"status": job.get_job_status().result().name})

    job.get_job_execution_result().add_done_callback(tell)
    return end


def _mapped(future: Future[Any], function: Callable[[Any], dict[str, Any]]) -> Result:
    mapped: Result = Future()

    def follow(done: Future[Any]) -> None:
        try:
            mapped.set_result(function(done.result()))
        except BaseException as error:  # CancelledError, too
            mapped.set_exception(error)

    future.add_done_callback(follow)
    return mapped


def _failed(error: Exception) -> Result:
    future: Result = Future()
    future.set_exception(error)
    return future


def _answer_of(id: str, result: Result) -> Answer:
    error = result.exception()
    if error is None:
        return Answer(id, "done", result.result())
    text = str(error) if isinstance(error, MillraceError) else f"{type(error).__name__}: {error}"
    return Answer(id, "failed", error=text[:8_000])
