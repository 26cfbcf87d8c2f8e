"""Ctrl-C and SIGTERM: once between epochs, twice at once."""

from __future__ import annotations

import io
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from threading import Event

import pytest

from millrace.cli.interrupts import Interrupts
from millrace.cli.terminal import Terminal
from millrace.common.completable_future import CompletableFuture
from millrace.common.job import JobStatus
from millrace.engine.job_details import JobDetails


class FakeClient:
    """A job that notes what is asked of it."""

    def __init__(self, status: JobStatus = JobStatus.RUNNING) -> None:
        self.status = status
        self.final_savepoint: str | None = None
        self.directory = ""
        self.stopped = Event()
        self.cancelled = Event()

    def get_job_status(self) -> CompletableFuture[JobStatus]:
        return CompletableFuture.completed(self.status)

    def progress(self) -> JobDetails:
        return JobDetails(checkpoint=4)

    def get_job_directory(self) -> str:
        return self.directory

    def stop(self) -> None:
        self.stopped.set()

    def cancel(self) -> None:
        self.cancelled.set()


@pytest.fixture
def interrupts() -> Iterator[Interrupts]:
    interrupts = Interrupts(Terminal(io.StringIO()))
    with interrupts.installed():
        yield interrupts


def watched(interrupts: Interrupts, status: JobStatus = JobStatus.RUNNING) -> FakeClient:
    client = FakeClient(status)
    interrupts.watch(client)  # type: ignore[arg-type]
    return client


def interrupt(number: int = signal.SIGINT) -> None:
    os.kill(os.getpid(), number)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_stops_between_epochs(interrupts: Interrupts, number: int) -> None:
    client = watched(interrupts)
    interrupt(number)
    assert client.stopped.wait(60)
    assert interrupts.stopping
    assert not client.cancelled.is_set()


def test_the_second_ctrl_c_ends_at_once(interrupts: Interrupts) -> None:
    client = watched(interrupts)
    interrupt()
    assert client.stopped.wait(60)
    interrupt()
    assert client.cancelled.wait(60)
    assert interrupts.cancelling


def test_a_second_sigterm_adds_nothing(interrupts: Interrupts) -> None:
    client = watched(interrupts)
    interrupt(signal.SIGTERM)
    interrupt(signal.SIGTERM)
    assert client.stopped.wait(60)
    assert not interrupts.cancelling


def test_without_a_running_job_the_job_file_is_interrupted(interrupts: Interrupts) -> None:
    watched(interrupts, JobStatus.FINISHED)
    with pytest.raises(KeyboardInterrupt):
        interrupt()


def test_whoever_insists_gets_out(interrupts: Interrupts) -> None:
    client = watched(interrupts)
    interrupt()
    interrupt()
    assert client.cancelled.wait(60)
    with pytest.raises(KeyboardInterrupt):
        interrupt()


def test_handlers_are_given_back() -> None:
    before = signal.getsignal(signal.SIGINT)
    with Interrupts(Terminal(io.StringIO())).installed():
        assert signal.getsignal(signal.SIGINT) != before
    assert signal.getsignal(signal.SIGINT) == before


def test_the_job_to_continue_is_the_last_one(interrupts: Interrupts, tmp_path: Path) -> None:
    assert interrupts.resume_hint("run it") is None
    watched(interrupts).directory = str(tmp_path)
    assert interrupts.resume_hint("run it") is None, "its checkpoint is gone"
    (tmp_path / "chk-4").mkdir()
    (tmp_path / "chk-4" / "_metadata").touch()
    assert interrupts.resume_hint("run it") == "to continue from checkpoint 4: run it"
    watched(interrupts).directory = str(tmp_path / "other")
    assert interrupts.resume_hint("run it") is None


def test_the_savepoints_that_jobs_have_ended_with(interrupts: Interrupts) -> None:
    watched(interrupts, JobStatus.FINISHED)
    watched(interrupts, JobStatus.FINISHED).final_savepoint = "/savepoints/a"
    assert interrupts.final_savepoints() == ["/savepoints/a"]
