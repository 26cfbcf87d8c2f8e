"""What commands make of the names and the answers of jobs."""

from __future__ import annotations

from typing import Any

import pytest

from millrace.common.errors import JobControlError, UserFunctionError
from millrace.common.job import JobStatus
from millrace.engine import control_client
from millrace.engine.control_mailbox import Mailbox, RunNote
from millrace.engine.job_record import RecordedRun


@pytest.mark.parametrize("words", [("",), (" ",), ("--job", "")])
@pytest.mark.parametrize("command", ["stop", "cancel", "status"])
def test_an_empty_name_is_no_job(place: Any, millrace: Any, command: str, words: Any) -> None:
    """Least of all the only one there is."""
    running = place.run("ab", name="only")
    with Mailbox(running).open_for(RunNote("r", "only", running.name, "host", 7, 0)):
        told = millrace(command, *words)
    assert (told.code, "name is empty" in told.err) == (2, True)


@pytest.mark.parametrize("command", [("stop", "--no-savepoint"), ("cancel",)])
def test_a_job_that_failed_was_not_ended(
    place: Any, millrace: Any, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    running = place.run("ab", name="broken")
    monkeypatch.setattr(control_client, "ask", lambda *_: {"status": "FAILED"})
    with Mailbox(running).open_for(RunNote("r", "broken", running.name, "host", 7, 0)):
        told = millrace(command[0], "broken", *command[1:])
    assert (told.code, told.out) == (1, "")
    assert "job 'broken' failed before its end; see its log" in told.err


def test_a_job_that_fails_before_it_answers(
    place: Any, millrace: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = place.run("ab", name="broken")

    def fails(*_: Any) -> Any:
        record = RecordedRun("broken", running.name, "r", "job.py")
        record.started(str(running))
        record.ended(JobStatus.FAILED, UserFunctionError("divide", "0", "Trace\nValueError: no"))
        raise JobControlError("the job ended without an answer")

    monkeypatch.setattr(control_client, "ask", fails)
    with Mailbox(running).open_for(RunNote("r", "broken", running.name, "host", 7, 0)):
        told = millrace("savepoint", "broken")
    assert (told.code, told.out) == (1, "")
    expected = "the job ended without an answer: it failed in operator 'divide': ValueError: no\n"
    assert told.err.endswith(expected)
