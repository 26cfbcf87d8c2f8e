"""Triggers outlive the server that took them, and every one is answered in the end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from threading import Event

import pytest

from millrace.common.errors import CheckpointError
from millrace.common.job import JobStatus
from millrace.engine.control_mailbox import Mailbox, MailboxAnswer, RunNote
from millrace.server.operation_triggers import (
    LOST,
    PATIENCE,
    STOP,
    JobCommand,
    OperationTriggers,
    TriggerTakenError,
)
from millrace.server.registry import RegisteredJob, Submission
from millrace.server.sql_registry import SqlRegistry

JOB = "1" * 32
COMMAND = JobCommand("rescale", {"parallelism": 2})


class Scene:
    """A job whose mailbox the test answers, and the servers that ask it."""

    def __init__(self, directory: Path) -> None:
        self.time = 1_000
        self.box: Mailbox | None = Mailbox(directory)
        self.run = ExitStack()
        self.registry = SqlRegistry(f"sqlite:///{directory}/registry.db")
        assert self.registry.claim()
        self.registry.put_job(RegisteredJob(JOB, Submission("job.py"), JobStatus.RUNNING))
        self.next_server()

    def next_server(self) -> None:
        self.triggers = OperationTriggers(self.registry, lambda id: self, lambda: self.time)

    def mailbox(self) -> Mailbox | None:
        """As `JobProcess.mailbox`."""
        return self.box

    def begin(self, run_id: str = "r1") -> None:
        self.run.close()
        assert self.box is not None
        self.run.enter_context(self.box.open_for(RunNote(run_id, "job", "job-1", "host", 1, 0)))

    def answer(self, state: str, **fields: object) -> None:
        (request,) = self.box.requests()
        self.box.take(request.id)
        self.box.answer(MailboxAnswer(request.id, state, **fields))

    def trigger(self, id: str | None = None) -> str:
        return self.triggers.trigger(JOB, "rescaling", COMMAND, id).id

    def outcome(self, id: str) -> tuple[str | None, str | None]:
        found = self.triggers.find(id)
        return found.result, found.error


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    made = Scene(tmp_path)
    yield made
    made.run.close()
    made.registry.close()


def test_a_job_is_asked_and_answers(scene) -> None:
    scene.begin()
    id = scene.trigger()
    assert scene.outcome(id) == (None, None)
    scene.answer("accepted")
    (answer,) = scene.box.directory.glob("answer-*")
    assert scene.outcome(id) == (None, None)
    scene.box.answer(MailboxAnswer(answer.stem[7:], "done", {"parallelism": 2}))
    assert scene.outcome(id) == ('{"parallelism": 2}', None)
    assert not answer.exists()


def test_a_job_refuses(scene) -> None:
    scene.begin()
    id = scene.trigger()
    scene.answer("failed", error="there are not so many slots")
    assert scene.outcome(id) == (None, "there are not so many slots")


def test_an_answer_reaches_the_next_server(scene) -> None:
    scene.begin()
    id = scene.trigger()
    scene.next_server()
    scene.answer("done", result={"savepoint": "/s"})
    scene.triggers.look()
    assert scene.registry.open_triggers() == []
    scene.next_server()
    assert scene.outcome(id) == ('{"savepoint": "/s"}', None)


def test_a_job_that_starts_is_asked_when_it_can_be(scene) -> None:
    id = scene.trigger()
    assert scene.outcome(id) == (None, None)
    scene.begin()
    scene.triggers.look()
    assert len(scene.box.requests()) == 1
    scene.answer("done")
    assert scene.outcome(id) == ("{}", None)


def test_a_job_that_never_starts(scene) -> None:
    id = scene.trigger()
    scene.time += PATIENCE + 1
    assert "has not begun" in scene.outcome(id)[1]


def test_a_server_that_died_before_it_asked(scene) -> None:
    id = scene.trigger()
    scene.next_server()
    assert "request it again" in scene.outcome(id)[1]


def test_a_request_that_was_noted_and_never_sent(scene) -> None:
    scene.begin()
    id = scene.trigger()
    (request,) = scene.box.requests()
    scene.box.withdraw(request.id)  # as if the server had died just before it sent it
    scene.next_server()
    assert scene.outcome(id) == (None, None)
    scene.time += LOST + 1
    assert "lost" in scene.outcome(id)[1]


def test_a_run_that_ended_or_was_followed_by_another(scene) -> None:
    scene.begin()
    first = scene.trigger()
    scene.begin("r2")
    assert "was restarted" in scene.outcome(first)[1]
    second = scene.trigger()
    scene.run.close()
    assert "ended" in scene.outcome(second)[1]


def test_an_answer_just_before_the_end_counts(scene) -> None:
    scene.begin()
    id = scene.trigger()
    scene.answer("done")
    scene.run.close()
    assert scene.outcome(id) == ("{}", None)


def test_a_job_that_was_stopped_and_does_not_end_is_not_waited_for_for_ever(scene) -> None:
    scene.begin()
    id = scene.triggers.trigger(JOB, STOP, COMMAND).id
    scene.answer("done", result={"savepoint": "/s/1"})
    assert scene.outcome(id) == (None, None)
    scene.time += PATIENCE
    assert scene.outcome(id) == ('{"savepoint": "/s/1"}', None)


def test_a_job_that_was_stopped_and_runs_again_has_ended(scene) -> None:
    scene.begin()
    id = scene.triggers.trigger(JOB, STOP, COMMAND).id
    scene.answer("done", result={"savepoint": "/s/1"})
    assert scene.outcome(id) == (None, None)
    scene.begin("r2")
    assert scene.outcome(id) == ('{"savepoint": "/s/1"}', None)


def test_the_id_of_a_client_is_triggered_once(scene) -> None:
    scene.begin()
    assert scene.trigger("a" * 32) == scene.trigger("a" * 32)
    assert len(scene.box.requests()) == 1
    assert scene.triggers.find("b" * 32) is None


def test_the_id_of_something_else_is_refused(scene) -> None:
    scene.begin()
    id = scene.trigger("a" * 32)
    for job, kind in ((JOB, "stop"), ("e" * 32, "rescaling")):
        with pytest.raises(TriggerTakenError, match="choose another triggerId"):
            scene.triggers.trigger(job, kind, COMMAND, id)
    assert len(scene.box.requests()) == 1


def test_a_directory_that_cannot_be_read_holds_up_no_other_job(scene, monkeypatch) -> None:
    scene.begin()
    ill, well = scene.trigger(), scene.trigger()
    requests = {request.id: request for request in scene.box.requests()}
    for id in requests:
        scene.box.take(id)
        scene.box.answer(MailboxAnswer(id, "done", {}))
    unreadable = scene.registry.trigger(ill).message
    receive = Mailbox.receive

    def failing(self: Mailbox, message: str, remove: bool = True) -> MailboxAnswer | None:
        if message == unreadable:
            raise OSError("a stale handle")
        return receive(self, message, remove=remove)

    monkeypatch.setattr(Mailbox, "receive", failing)
    scene.triggers.look()
    assert scene.registry.trigger(well).result == "{}"
    assert not scene.registry.trigger(ill).is_done
    monkeypatch.undo()
    scene.triggers.look()
    assert scene.registry.trigger(ill).result == "{}"


def test_work_of_the_server_itself(scene, eventually) -> None:
    go = Event()

    def fail() -> None:
        raise CheckpointError("this is no savepoint")

    slow = scene.triggers.carry_out("disposal", lambda: go.wait(60) and {"left": []})
    broken = scene.triggers.carry_out("disposal", fail)
    eventually(lambda: scene.outcome(broken)[1] == "this is no savepoint")
    assert scene.outcome(slow) == (None, None)
    go.set()
    eventually(lambda: scene.outcome(slow) == ('{"left": []}', None))


def test_work_that_died_with_its_server(scene) -> None:
    go = Event()
    id = scene.triggers.carry_out("disposal", go.wait)
    scene.next_server()
    assert "request it again" in scene.outcome(id)[1]
    go.set()
