"""What commands make of the names and the answers of jobs."""

from __future__ import annotations

from typing import Any

import pytest

from millrace.engine import control_client
from millrace.engine.control_mailbox import Mailbox, RunNote


@pytest.mark.parametrize("words", [("",), (" ",), ("--job", "")])
@pytest.mark.parametrize("command", ["stop", "cancel", "status"])
def test_an_empty_name_is_no_job(place: Any, millrace: Any, command: str, words: Any) -> None:
    """Least of all the only one there is."""
    running = place.run("ab", name="only")
    with Mailbox(running).open_for(RunNote("r", "only", running.name, "host", 7, 0)):
        told = millrace(command, *words)
    assert (told.code, "its name is empty" in told.err) == (2, True)


@pytest.mark.parametrize("command", [("stop", "--no-savepoint"), ("cancel",)])
def test_a_job_that_failed_was_not_ended(
    place: Any, millrace: Any, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    running = place.run("ab", name="broken")
    monkeypatch.setattr(control_client, "ask", lambda *_: {"status": "FAILED"})
    with Mailbox(running).open_for(RunNote("r", "broken", running.name, "host", 7, 0)):
        told = millrace(command[0], "broken", *command[1:])
    assert (told.code, told.out) == (1, "")
    assert "job 'broken' failed before it had come to its end" in told.err
