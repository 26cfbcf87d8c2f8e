"""Jobs whose checkpoints are in an object store: found, operated and started again all the same."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from server_group import (
    JOBS,
    CountingJob,
    RunningServer,
    await_that,
    count,
    kill_processes_of_jobs,
)

from millrace.cli.main import main
from millrace.filesystem.registry import file_system_of

pytestmark = pytest.mark.fault


@pytest.fixture
def checkpoints(s3_root: str) -> str:
    file_system_of(s3_root).write_if(f"{s3_root}/first", b"makes the bucket", None)
    return f"{s3_root}/checkpoints"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RunningServer]:
    made = RunningServer(tmp_path / "server")
    yield made
    made.signal(signal.SIGKILL)  # first: it would start the jobs again
    kill_processes_of_jobs(made.directory, tmp_path)


def objects_below(location: str) -> list[str]:
    found = file_system_of(location).list(location, recursive=True)
    return [status.location for status in found]


def test_a_job_that_runs_alone_is_found_and_stopped(
    checkpoints: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    job = CountingJob("", tmp_path / "out")
    words = ["run", "--checkpoint-dir", checkpoints, JOBS / "counting.py", job.output]
    command = [sys.executable, JOBS / "local_millrace.py", *words]
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(list(map(str, command)), stdout=log, stderr=log)
    try:
        job.await_progress()
        assert main(["list"]) == 0
        assert "running" in capsys.readouterr().out
        assert main(["stop", "counting", "--savepoint", str(tmp_path / "savepoints")]) == 0
        assert process.wait(60) == 0, (tmp_path / "log").read_text()
    finally:
        process.kill()
    job.require_exactly_once()
    assert objects_below(checkpoints)


def test_a_job_of_a_server_goes_on_after_its_process_was_killed(
    checkpoints: str, server: RunningServer, tmp_path: Path
) -> None:
    job = count(server, tmp_path / "out", {"execution.checkpointing.dir": checkpoints})
    job.await_progress()
    attempts = lambda: server.attempts(job.id)  # noqa: E731
    os.kill(attempts()[-1]["pid"], signal.SIGKILL)
    await_that(lambda: len(attempts()) == 2, "the second process")
    job.await_progress()
    job.stop(server)
    job.require_exactly_once()
    kept = objects_below(checkpoints)
    assert kept, "checkpoints are where they were asked for"
    assert all(f"/{job.id}/" in path for path in kept), "no other job of this program finds them"
