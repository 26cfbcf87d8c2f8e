"""Requests and answers as files: only whole, only valid, only for the run that lives."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from millrace.common.errors import JobControlError
from millrace.engine import control_mailbox
from millrace.engine.control_mailbox import (
    MAX_BYTES,
    Mailbox,
    MailboxAnswer,
    MailboxRequest,
    RunNote,
)

NOTE = RunNote("run-1", "count", "count-1", "here", 7, 0)
ID = "0123456789abcdef"


@pytest.fixture
def mailbox(tmp_path: Path) -> Mailbox:
    return Mailbox(tmp_path)


def put(mailbox: Mailbox, text: str | bytes, id: str = ID) -> Path:
    path = mailbox.directory / f"request-{id}.json"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def request_text(**changes: object) -> str:
    fields = {"id": ID, "run_id": "run-1", "command": "status", "arguments": {}}
    return json.dumps({**fields, **changes})


def test_nobody_runs_where_there_is_no_mailbox(mailbox: Mailbox) -> None:
    assert mailbox.running() is None


def test_a_request_and_its_answers(mailbox: Mailbox) -> None:
    with mailbox.open_for(NOTE):
        id = mailbox.send("run-1", "rescale", {"parallelism": 4})
        assert mailbox.receive(id) is None
        assert mailbox.requests() == [MailboxRequest(id, "run-1", "rescale", {"parallelism": 4})]
        assert mailbox.take(id)
        assert mailbox.requests() == []
        mailbox.answer(MailboxAnswer(id, "accepted"))
        assert mailbox.receive(id) == mailbox.receive(id) == MailboxAnswer(id, "accepted")
        mailbox.answer(MailboxAnswer(id, "done", {"parallelism": 4}))
        assert mailbox.receive(id) == MailboxAnswer(id, "done", {"parallelism": 4})
        assert mailbox.receive(id) is None


def test_who_runs_is_known_while_he_lives(mailbox: Mailbox) -> None:
    with mailbox.open_for(NOTE):
        assert mailbox.running() == NOTE
        with pytest.raises(BlockingIOError), mailbox.open_for(NOTE):
            pass
    assert mailbox.running() is None


def test_who_goes_keeps_it_until_his_note_is_gone(
    mailbox: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who waits for the next run's turn must not go by the note."""
    seen = []

    def delete(path: Path) -> None:
        path.unlink()
        seen.append((mailbox.running(), mailbox.is_open()))

    with mailbox.open_for(NOTE):
        monkeypatch.setattr(control_mailbox, "delete_quietly", delete)
    assert (seen, mailbox.is_open()) == ([(None, True)], False)


def test_a_note_without_a_living_process_is_nothing(mailbox: Mailbox) -> None:
    """As kill -9 leaves it: the note is there, the lock is not."""
    with mailbox.open_for(NOTE):
        note = (mailbox.directory / "run.json").read_bytes()
    (mailbox.directory / "run.json").write_bytes(note)
    assert mailbox.running() is None


def test_what_earlier_runs_left_is_gone(mailbox: Mailbox) -> None:
    with mailbox.open_for(NOTE):
        mailbox.send("run-1", "cancel", {})
    with mailbox.open_for(NOTE):
        assert mailbox.requests() == []
        assert sorted(os.listdir(mailbox.directory)) == ["alive.lock", "run.json"]


def test_only_the_owner_may_look_into_it(mailbox: Mailbox) -> None:
    mailbox.directory.mkdir(mode=0o755)
    with mailbox.open_for(NOTE):
        assert stat.S_IMODE(mailbox.directory.stat().st_mode) == 0o700


def test_a_link_in_the_place_of_the_directory_is_refused(mailbox: Mailbox, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    mailbox.directory.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(JobControlError, match="is not a directory of the user"):
        mailbox.open_for(NOTE).__enter__()


def test_a_request_can_be_withdrawn_until_it_is_taken(mailbox: Mailbox) -> None:
    with mailbox.open_for(NOTE):
        first, second = (mailbox.send("run-1", "cancel", {}) for _ in range(2))
        assert mailbox.withdraw(first)
        assert not mailbox.take(first)
        assert mailbox.take(second)
        assert not mailbox.withdraw(second)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "not a valid message"),
        (b"\xff\xfe", "not a valid message"),
        ("[]", "Expected `object`, got `array`"),
        ("[" * 50_000, "not a valid message"),
        (request_text(extra=1), "unknown field `extra`"),
        ('{"id": "a"}', "missing required field `run_id`"),
        (request_text(command=3), "Expected `str`, got `int` - at `$.command`"),
        (request_text(arguments=[]), "Expected `object`, got `array` - at `$.arguments`"),
        (
            request_text(arguments={"parallelism": float("nan")}),
            "NaN is not JSON",
        ),
        (request_text().replace("{}", '{"a": 1, "a": 2}'), "there twice"),
        (request_text(id="f" * 16), "holds the request"),
        (" " * (MAX_BYTES + 1), "longer than a message"),
    ],
)
def test_what_is_no_request_gets_a_clear_answer(
    mailbox: Mailbox, text: str | bytes, reason: str
) -> None:
    with mailbox.open_for(NOTE):
        put(mailbox, text)
        [answer] = mailbox.requests()
    assert isinstance(answer, MailboxAnswer)
    assert (answer.id, answer.state) == (ID, "failed")
    assert reason in answer.error


@given(st.binary(max_size=200))
@settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck))
def test_no_bytes_deafen_the_job(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    mailbox = Mailbox(tmp_path_factory.mktemp("job"))
    with mailbox.open_for(NOTE):
        put(mailbox, data)
        assert [type(found) for found in mailbox.requests()] == [MailboxAnswer]


def test_links_and_pipes_are_not_followed(mailbox: Mailbox, tmp_path: Path) -> None:
    """A pipe would make the job wait for ever, a link read somebody's file."""
    (tmp_path / "request").write_text(request_text())
    with mailbox.open_for(NOTE):
        (mailbox.directory / f"request-{ID}.json").symlink_to(tmp_path / "request")
        os.mkfifo(mailbox.directory / f"request-{'0' * 16}.json")
        answers = mailbox.requests()
    assert [answer.state for answer in answers if isinstance(answer, MailboxAnswer)] == [
        "failed"
    ] * 2


def test_a_pipe_in_the_place_of_the_lock_is_not_waited_for(mailbox: Mailbox) -> None:
    mailbox.directory.mkdir(0o700)
    os.mkfifo(mailbox.directory / "alive.lock")
    assert not mailbox.is_open()
    assert mailbox.running() is None


def test_directories_with_the_names_of_files_deafen_nobody(mailbox: Mailbox) -> None:
    mailbox.directory.mkdir(0o700)
    for name in ("run.json", f"request-{'1' * 16}.json"):
        (mailbox.directory / name / "inside").mkdir(parents=True)
    with mailbox.open_for(NOTE):
        assert mailbox.running() == NOTE
        (mailbox.directory / f"request-{'0' * 16}.json").mkdir()
        id = mailbox.send("run-1", "cancel", {})
        assert mailbox.requests() == [MailboxRequest(id, "run-1", "cancel", {})]
        assert not mailbox.take("0" * 16)
        assert mailbox.take(id)


def test_other_files_are_left_alone(mailbox: Mailbox) -> None:
    with mailbox.open_for(NOTE):
        (mailbox.directory / "request-short.json").write_text("{}")
        (mailbox.directory / f".request-{ID}.json.x.tmp").write_text("{")
        assert mailbox.requests() == []


def test_ids_cannot_lead_elsewhere(mailbox: Mailbox) -> None:
    with pytest.raises(JobControlError, match="is not the id"):
        mailbox.receive("../../secret")


def test_a_message_may_not_be_endless(mailbox: Mailbox) -> None:
    with mailbox.open_for(NOTE), pytest.raises(JobControlError, match="too long"):
        mailbox.send("run-1", "savepoint", {"directory": "x" * MAX_BYTES})


def test_nobody_can_send_where_no_job_has_run(mailbox: Mailbox) -> None:
    with pytest.raises(JobControlError, match="only the user who runs a job"):
        mailbox.send("run-1", "cancel", {})
