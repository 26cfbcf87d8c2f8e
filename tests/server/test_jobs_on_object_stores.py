"""Jobs whose checkpoints are in an object store: found, operated and started again all the same."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from postgresql import PostgreSQL
from server_group import (
    JOBS,
    OTHER_MACHINE,
    QUICK,
    CountingJob,
    RunningServer,
    ServerGroup,
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


@pytest.mark.turns(7)
def test_a_job_that_runs_alone_is_found_and_stopped(
    checkpoints: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    job = CountingJob("", tmp_path / "out")

    def millrace(*words: str) -> str:
        assert main(list(words)) == 0
        return capsys.readouterr().out

    words = ["run", "--checkpoint-dir", checkpoints, JOBS / "counting.py", job.output]
    command = [sys.executable, JOBS / "local_millrace.py", *words]
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(list(map(str, command)), stdout=log, stderr=log)
    try:
        job.await_progress()
        assert "running" in millrace("list")
        assert main(["stop", "counting", "--savepoint", str(tmp_path / "savepoints")]) == 0
        assert process.wait(60) == 0, (tmp_path / "log").read_text()
    finally:
        process.kill()
    capsys.readouterr()
    job.require_exactly_once()
    assert objects_below(checkpoints)
    [told] = json.loads(millrace("list", "--json"))
    kept = f"{checkpoints}/{told['name']}-"
    assert told["state"] == "stopped", "its input has not ended"
    assert told["checkpoint_path"].startswith(kept)
    assert file_system_of(kept).status(f"{told['checkpoint_path']}/_metadata") is not None
    about = millrace("info", "counting")
    assert about.startswith("counting is stopped since ")
    assert f" failed, in {kept}" in about


@pytest.mark.turns(7)
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


@pytest.fixture
def group(tmp_path: Path) -> Iterator[ServerGroup]:
    made = ServerGroup(tmp_path, *QUICK)
    yield made
    made.close()


@pytest.mark.torture
@pytest.mark.usefixtures("namespaces")
def test_a_second_server_takes_a_live_job_over(
    checkpoints: str, group: ServerGroup, postgresql: PostgreSQL
) -> None:
    """The first one's lease ends while its job's process is alive and writes: as soon as the second
    server has fenced it off, nothing of it becomes visible any more."""
    url = postgresql.url(postgresql.create_database())
    registry = url.replace("postgresql:", "postgresql+psycopg:")
    first = group.start(registry, "postgresql", OTHER_MACHINE)
    await_that(first.leads, "the first election")
    second = group.start(registry, "postgresql")
    job = count(first, group.directory / "out", {"execution.checkpointing.dir": checkpoints})
    job.await_progress()
    first.signal(signal.SIGSTOP)  # the server alone: the job's process knows nothing of it
    await_that(second.leads, "the takeover")
    attempts = lambda: second.attempts(job.id)  # noqa: E731
    await_that(lambda: len(attempts()) == 2, "the second process")
    log = group.directory / "shared" / "jobs" / job.id / "log.txt"
    await_that(lambda: "newer leader" in log.read_text(), "the end of the first process")
    job.await_progress()
    assert "resuming from checkpoint" in log.read_text()
    assert attempts()[0]["outcome"].startswith("left behind on ")
    first.signal(signal.SIGCONT)
    job.stop(second)
    job.require_exactly_once()
    assert all(f"/{job.id}/" in path for path in objects_below(checkpoints))


@pytest.mark.turns(7)
def test_what_was_kept_where_jobs_had_no_directories_of_their_own(
    checkpoints: str, server: RunningServer, tmp_path: Path
) -> None:
    """A job that is new begins anew and says so; one that has run before does not."""
    alone = CountingJob("", tmp_path / "alone")
    words = ["run", "--checkpoint-dir", checkpoints, JOBS / "counting.py", alone.output, "30"]
    command = [sys.executable, JOBS / "local_millrace.py", *words]
    environment = {**os.environ, "XDG_STATE_HOME": str(tmp_path / "state")}
    subprocess.run(list(map(str, command)), check=True, capture_output=True, env=environment)

    job = count(server, tmp_path / "out", {"execution.checkpointing.dir": checkpoints})
    log = server.directory / "jobs" / job.id / "log.txt"
    await_that(lambda: "the job starts afresh, though s3://" in log.read_text(), "the notice")
    job.await_progress()
    job.stop(server)

    words = ["run", "--resume", "--conf", f"millrace.control.directory={tmp_path / 'control'}"]
    words += [*["--checkpoint-dir", checkpoints, str(JOBS / "counting.py"), str(alone.output)]]
    ran = subprocess.run(
        [sys.executable, str(JOBS / "local_millrace.py"), *words],
        check=False,
        capture_output=True,
        text=True,
        env={**environment, "MILLRACE_FENCING_TOKEN": "0", "MILLRACE_RAN_BEFORE": "1"},
    )
    assert ran.returncode == 1
    assert "This job has run before, but in another directory than s3://" in ran.stderr
    assert "/chk-" in ran.stderr
