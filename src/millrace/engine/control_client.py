"""Sends a request to a running job of another process, and waits for the answer."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from millrace.common.errors import JobControlError
from millrace.engine.control_mailbox import Mailbox, MailboxAnswer, RunNote
from millrace.state.checkpoint.files import StrPath

__all__ = ["ask", "await_end"]

POLL = 0.05
WORD_AFTER, WORD_PERIOD = 3.0, 10.0
"""Seconds until the client is first told what the job waits for, and seconds between later
messages."""
ACCEPT_TIMEOUT = 20.0
"""Seconds within which a healthy job accepts a request."""


def ask(
    job_dir: StrPath,
    command: str,
    arguments: dict[str, Any],
    timeout: float = 300.0,
    waiting: Callable[[str], None] = lambda text: None,
) -> dict[str, Any]:
    """Send a request to a job, and return the answer.

    Args:
        job_dir: the job's checkpoint directory.
        command, arguments: see `millrace.engine.control_commands.COMMANDS`.
        timeout: seconds to wait until the request is finished.
        waiting: called every few seconds with the reason why the job does not answer yet.

    Raises:
        JobControlError: the job does not run, refuses, fails to do it, or does not answer in time.
    """
    mailbox = Mailbox(job_dir)
    run = mailbox.running()
    if run is None:
        raise JobControlError("the job is not running")
    id = mailbox.send(run.run_id, command, arguments)
    answer = _await(mailbox, run, id, timeout, waiting)
    if answer.state == "failed":
        raise JobControlError(answer.error)
    return answer.result


def _await(
    mailbox: Mailbox, run: RunNote, id: str, timeout: float, waiting: Callable[[str], None]
) -> MailboxAnswer:
    """Final answer to a request."""
    started = time.monotonic()
    next_word, reason = started + WORD_AFTER, ""
    while True:
        alive = mailbox.running()
        answer = mailbox.receive(id)
        if answer is not None and answer.state != "accepted":
            return answer
        if answer is not None:
            reason = answer.result.get("waits_for") or reason
        if reason and time.monotonic() > next_word:
            next_word = time.monotonic() + WORD_PERIOD
            waiting(reason)
        if alive is None or alive.run_id != run.run_id:
            mailbox.withdraw(id)
            raise JobControlError("the job ended without an answer; was its process killed?")
        waited = time.monotonic() - started
        if waited > min(timeout, ACCEPT_TIMEOUT) and answer is None and mailbox.withdraw(id):
            raise JobControlError(
                f"the job did not take the request within {waited:.0f} s, so it was "
                f"withdrawn; try again after {run}"
            )
        if waited > timeout:
            raise JobControlError(
                f"the job took the request but did not finish it within {timeout:.0f} s; it is "
                "still working on it" + (f". It waits for: {reason}" if reason else "")
            )
        time.sleep(POLL)


def await_end(job_dir: StrPath, timeout: float) -> bool:
    """Wait until no process runs the job; False if one still does after ``timeout`` seconds."""
    mailbox = Mailbox(job_dir)
    deadline = time.monotonic() + timeout
    while mailbox.is_open():
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL)
    return True
