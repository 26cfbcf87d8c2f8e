"""A job is operated from outside: what is asked for happens, and the answer says how it went."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path

import pytest

from millrace.common.errors import CheckpointError, JobControlError
from millrace.common.job import JobExecutionResult, JobID, JobStatus
from millrace.engine import control_service
from millrace.engine.control_client import ask, await_end
from millrace.engine.control_mailbox import Mailbox
from millrace.engine.control_service import ControlService
from millrace.engine.job_details import JobDetails
from millrace.engine.job_requests import (
    AfterSavepoint,
    CancelRequest,
    CheckpointRequest,
    Request,
    RescaleRequest,
    SavepointRequest,
    StopRequest,
)

POLL = 0.01
PATIENCE = 180.0


class FakeJob:
    """Notes what it was asked for; each future is completed by the test."""

    def __init__(self) -> None:
        self.calls: list[tuple[object, ...]] = []
        self.status = JobStatus.RUNNING
        self.future: Future[str] = Future()
        self.result: Future[JobExecutionResult] = Future()
        self.called = threading.Event()

    @property
    def bus(self) -> FakeJob:
        return self

    def submit(self, request: Request) -> Future[str]:
        match request:
            case CheckpointRequest():
                self.calls.append(("checkpoint",))
            case SavepointRequest(directory, AfterSavepoint.GO_ON, format_type):
                self.calls.append(("savepoint", directory, format_type.name))
            case SavepointRequest(directory, after, format_type):
                told = (after is AfterSavepoint.DRAIN, directory, format_type.name)
                self.calls.append(("stop with savepoint", *told))
            case RescaleRequest(parallelism):
                self.calls.append(("rescale", parallelism))
            case StopRequest():
                self.calls.append(("stop",))
            case CancelRequest():
                self.calls.append(("cancel",))
        self.called.set()
        return self.future

    def details(self) -> JobDetails:
        return JobDetails(status=self.status, epoch=7, checkpoint=3, records=100)

    def finish(self, status: JobStatus) -> None:
        self.status = status
        self.result.set_result(JobExecutionResult(JobID.from_name("count"), 1))


class Running:
    """A fake job with its control service."""

    def __init__(self, job_dir: Path, run_id: str = "run-1") -> None:
        self.job_dir = job_dir
        self.job = FakeJob()
        self.service = ControlService(self.job, "count", "count-1", job_dir, run_id, poll=POLL)
        self.service.start()
        until(lambda: Mailbox(job_dir).running() is not None)

    def ask(self, command: str, **arguments: object) -> Future[dict[str, object]]:
        """Ask in a thread of its own."""
        answer: Future[dict[str, object]] = Future()

        def run() -> None:
            try:
                answer.set_result(ask(self.job_dir, command, arguments, PATIENCE))
            except Exception as error:
                answer.set_exception(error)

        threading.Thread(target=run, daemon=True).start()
        return answer

    def close(self) -> None:
        self.service.close()


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(POLL)


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    running = Running(tmp_path)
    yield running
    running.close()


def test_checkpoint(running: Running) -> None:
    answer = running.ask("checkpoint")
    assert running.job.called.wait(PATIENCE)
    assert running.job.calls == [("checkpoint",)]
    running.job.future.set_result(4)
    assert answer.result(PATIENCE) == {"checkpoint": 4}


def test_savepoint(running: Running) -> None:
    answer = running.ask("savepoint", directory="where", format="native")
    assert running.job.called.wait(PATIENCE)
    assert running.job.calls == [("savepoint", "where", "NATIVE")]
    assert not answer.done()
    running.job.future.set_result("where/savepoint-1")
    assert answer.result(PATIENCE) == {"savepoint": "where/savepoint-1"}


def test_a_started_job_imports_what_the_first_savepoint_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared = threading.Event()
    monkeypatch.setattr(control_service, "STARTED", 0.0)
    monkeypatch.setattr(control_service, "prepare_to_write", prepared.set)
    running = Running(tmp_path)
    try:
        assert prepared.wait(PATIENCE)
        assert not running.ask("savepoint", directory="where", format="native").done()
        assert running.job.called.wait(PATIENCE)  # it still listens
    finally:
        running.job.future.set_result("where/savepoint-1")
        running.close()


def test_stop_with_savepoint_is_answered_by_a_job_that_has_ended(running: Running) -> None:
    answer = running.ask("stop", savepoint=True, directory=None, drain=True, format="canonical")
    assert running.job.called.wait(PATIENCE)
    assert running.job.calls == [("stop with savepoint", True, None, "CANONICAL")]
    running.job.finish(JobStatus.FINISHED)
    running.service.end()
    running.job.future.set_result("there")
    assert answer.result(PATIENCE) == {"savepoint": "there"}
    assert await_end(running.job_dir, PATIENCE)


def test_stop_without_savepoint_and_cancel_are_done_when_the_job_has_ended(
    running: Running,
) -> None:
    answers = [
        running.ask("stop", savepoint=False, directory=None, drain=False, format="canonical"),
        running.ask("cancel"),
    ]
    until(lambda: sorted(running.job.calls) == [("cancel",), ("stop",)])
    assert not any(answer.done() for answer in answers)
    running.job.finish(JobStatus.CANCELED)
    assert [a.result(PATIENCE) for a in answers] == [{"status": "CANCELED"}] * 2


def test_who_sits_before_the_job_is_told(
    running: Running, caplog: pytest.LogCaptureFixture
) -> None:
    """A request that comes too late only leaves a note in the log."""
    running.ask("status").result(PATIENCE)
    running.job.finish(JobStatus.CANCELED)
    running.ask("cancel").result(PATIENCE)
    assert [record.message for record in caplog.records] == ["job 'count' was asked to cancel"]


def test_a_refused_request_is_not_in_the_log(
    running: Running, caplog: pytest.LogCaptureFixture
) -> None:
    running.job.future.set_exception(CheckpointError("a savepoint needs a directory"))
    asked = running.ask("stop", savepoint=True, directory=None, drain=False, format="canonical")
    with pytest.raises(JobControlError, match="needs a directory"):
        asked.result(PATIENCE)
    assert not caplog.records


def test_rescale_and_status(running: Running) -> None:
    running.job.future.set_result("")
    assert running.ask("rescale", parallelism=4).result(PATIENCE) == {"parallelism": 4}
    assert running.job.calls == [("rescale", 4)]
    status = running.ask("status").result(PATIENCE)
    assert (status["status"], status["epoch"], status["checkpoint"]) == ("RUNNING", 7, 3)


def test_what_fails_is_told(running: Running) -> None:
    running.job.future.set_exception(CheckpointError("the disk is full"))
    with pytest.raises(JobControlError, match="^the disk is full$"):
        running.ask("savepoint", directory=None, format="canonical").result(PATIENCE)


@pytest.mark.parametrize(
    ("command", "arguments", "reason"),
    [
        ("explode", {}, "does not know the request 'explode', only checkpoint, savepoint,"),
        ("rescale", {"parallelism": "4"}, "arguments of rescale must be: parallelism \\(int\\)"),
        ("rescale", {"parallelism": True}, "must be: parallelism"),
        ("cancel", {"now": True}, "arguments of cancel must be: none"),
        ("savepoint", {}, "must be: directory"),
        ("savepoint", {"directory": None, "format": "avro"}, "canonical or native, not 'avro'"),
        (
            "stop",
            {"savepoint": False, "directory": None, "drain": True, "format": "native"},
            "only be drained together",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(
    running: Running, command: str, arguments: dict[str, object], reason: str
) -> None:
    with pytest.raises(JobControlError, match=reason):
        running.ask(command, **arguments).result(PATIENCE)
    assert running.job.calls == []


def test_a_request_to_an_earlier_run_is_not_carried_out(running: Running) -> None:
    mailbox = Mailbox(running.job_dir)
    id = mailbox.send("run-0", "cancel", {})
    until((mailbox.directory / f"answer-{id}.json").exists)
    until(lambda: (answer := mailbox.receive(id)) is not None and answer.state == "failed")
    assert running.job.calls == []


def test_a_damaged_request_does_not_deafen_the_job(running: Running) -> None:
    mailbox = Mailbox(running.job_dir)
    (mailbox.directory / f"request-{'0' * 16}.json").write_text("{")
    until((mailbox.directory / f"answer-{'0' * 16}.json").exists)
    assert running.ask("status").result(PATIENCE)["epoch"] == 7


@pytest.mark.parametrize("directory", ["a\0b", "half\ud800"])
def test_what_cannot_be_a_directory_does_not_reach_the_job(
    running: Running, directory: str
) -> None:
    for command, more in (("savepoint", {}), ("stop", {"savepoint": True, "drain": False})):
        answer = running.ask(command, directory=directory, format="canonical", **more)
        with pytest.raises(JobControlError, match="cannot be a directory"):
            answer.result(PATIENCE)
    assert running.job.calls == []


def test_who_asks_a_job_that_ends_is_told(running: Running) -> None:
    answer = running.ask("rescale", parallelism=2)
    assert running.job.called.wait(PATIENCE)
    running.job.finish(JobStatus.FAILED)
    running.job.future.set_exception(JobControlError("it failed before"))
    running.service.end()
    with pytest.raises(JobControlError, match="it failed before"):
        answer.result(PATIENCE)


def test_nobody_answers_where_no_job_runs(tmp_path: Path) -> None:
    with pytest.raises(JobControlError, match="the job is not running"):
        ask(tmp_path, "status", {})


def test_a_job_that_hangs_costs_the_timeout_and_nothing_else(tmp_path: Path) -> None:
    """The request is taken back, so it is not carried out when the job comes to itself."""
    service = ControlService(FakeJob(), "count", "count-1", tmp_path, "run-1", poll=PATIENCE)
    service._poll = POLL
    service._take_requests = lambda: None  # type: ignore[method-assign]
    service.start()
    until(lambda: Mailbox(tmp_path).running() is not None)
    with pytest.raises(JobControlError, match="did not take the request"):
        ask(tmp_path, "status", {}, timeout=0.1)
    assert Mailbox(tmp_path).requests() == []
    service.close()


def test_a_request_that_takes_long_goes_on(running: Running) -> None:
    with pytest.raises(JobControlError, match="took the request but did not finish"):
        ask(running.job_dir, "savepoint", {"directory": None, "format": "canonical"}, timeout=2)
    assert running.job.calls == [("savepoint", None, "CANONICAL")]
    running.job.future.set_result("there")


def test_the_next_run_waits_for_the_last_answers_of_the_one_before(tmp_path: Path) -> None:
    first = Running(tmp_path)
    second = ControlService(FakeJob(), "count", "count-1", tmp_path, "run-2", poll=POLL)
    second.start()
    first.service.close()
    until(lambda: (note := Mailbox(tmp_path).running()) is not None and note.run_id == "run-2")
    second.close()
