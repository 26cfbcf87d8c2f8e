"""Running jobs are operated with commands, as from another terminal."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from millrace.common import Configuration, Types, WatermarkStrategy
from millrace.common.errors import JobCancelledError
from millrace.common.job import JobStatus
from millrace.connectors import DataGeneratorSource, RateLimiterStrategy
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.job_launcher import JobLauncher
from millrace.engine.control_client import await_end
from millrace.engine.control_mailbox import Mailbox
from millrace.engine.embedded_job_client import EmbeddedJobClient
from millrace.state.checkpoint.snapshot import open_snapshot
from millrace.state.snapshot_reader import SnapshotReader
from millrace.testing import CollectingSink, LocalExecutor

PATIENCE = 180


@pytest.fixture
def start(place: Any) -> Iterator[Any]:
    """Starts the job "numbers", which never ends by itself."""
    clients: list[EmbeddedJobClient] = []

    def start(parallelism: int = 1, **settings: Any) -> EmbeddedJobClient:
        launcher = JobLauncher(
            settings=Configuration(settings),
            defaults=Configuration(
                {
                    "execution.checkpointing.dir": str(place.checkpoints),
                    "execution.checkpointing.savepoint-dir": str(place.savepoints),
                    "execution.checkpointing.interval": "50 ms",
                    "parallelism.default": parallelism,
                }
            ),
            executor=lambda configuration, name, parallelism: LocalExecutor(2),
        )
        JobLauncher.install(launcher)
        env = StreamExecutionEnvironment.get_execution_environment()
        source = DataGeneratorSource(
            lambda index: index, None, RateLimiterStrategy.per_second(500), splits=1
        )
        numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
        keyed = numbers.uid("numbers").key_by(lambda n: n % 10, key_type=Types.LONG())
        keyed.sum().uid("sum").sink_to(CollectingSink())
        client = env.execute_async("numbers")
        clients.append(client)
        job_dir = next(place.checkpoints.glob("numbers-*"), None)
        while job_dir is None or Mailbox(job_dir).running() is None:
            assert not client.get_job_execution_result().done()
            job_dir = next(place.checkpoints.glob("numbers-*"), None)
        return client

    yield start
    JobLauncher.install(None)
    for client in clients:
        client.cancel()
        client.get_job_execution_result().exception(PATIENCE)
    for job_dir in place.checkpoints.glob("*"):
        assert await_end(job_dir, PATIENCE)


def status(client: EmbeddedJobClient) -> JobStatus:
    client.get_job_execution_result().exception(PATIENCE)
    return client.get_job_status().result()


def test_a_checkpoint(start: Any, place: Any, millrace: Any) -> None:
    client = start()
    told = json.loads(millrace("checkpoint", "numbers", "--json").out)
    assert told["job"] == "numbers"
    assert client.progress().checkpoint >= told["checkpoint"]
    told = millrace("checkpoint", "numbers")
    assert (told.code, "of job 'numbers' is complete" in told.out) == (0, True), told.err


def test_a_savepoint_while_the_job_goes_on(start: Any, place: Any, millrace: Any) -> None:
    client = start()
    first = millrace("savepoint", "numbers")
    assert first.code == 0, first.err
    path = Path(first.out.strip())
    assert path.parent == place.savepoints
    assert open_snapshot(path).is_savepoint
    own = place.directory / "own"
    told = json.loads(millrace("savepoint", "--job", "numbers", own, "--json").out)
    assert (told["job"], Path(told["savepoint"]).parent) == ("numbers", own)
    assert open_snapshot(told["savepoint"]).manifest.ancestor == path.name
    assert client.get_job_status().result() is JobStatus.RUNNING


def test_how_far_it_is(start: Any, millrace: Any) -> None:
    start()
    told = millrace("status", "numbers")
    assert told.code == 0
    assert told.out.startswith("numbers is RUNNING: ")
    assert " records  " in told.out
    assert json.loads(millrace("status", "numbers", "--json").out)["status"] == "RUNNING"


def test_stop_with_a_savepoint(start: Any, place: Any, millrace: Any) -> None:
    client = start()
    told = millrace("stop", "numbers", "--savepoint", place.directory / "own")
    assert told.code == 0, told.err
    assert told.out.startswith("job 'numbers' has ended with the savepoint ")
    assert status(client) is JobStatus.FINISHED
    [path] = (place.directory / "own").iterdir()
    assert str(path) in told.out
    assert client.final_savepoint == str(path)
    again = millrace("stop", "numbers")
    assert again.code == 1
    assert "job 'numbers' is not running; to continue from its newest checkpoint: " in again.err
    assert Path(again.err.split()[-2]).name.startswith("chk-")


def test_drain(start: Any, millrace: Any) -> None:
    """Nothing is left to be done: the savepoint says that the job has finished."""
    client = start()
    told = json.loads(millrace("stop", "numbers", "--drain", "--json").out)
    assert status(client) is JobStatus.FINISHED
    assert open_snapshot(told["savepoint"]).manifest.finished


KILLED = """
import os, signal, sys
from millrace.common import Configuration, WatermarkStrategy
from millrace.connectors import DataGeneratorSource, RateLimiterStrategy
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.job_launcher import JobLauncher
from millrace.engine.control_mailbox import Mailbox
from millrace.testing import LocalExecutor

JobLauncher.install(JobLauncher(executor=lambda *_: LocalExecutor()))
settings = Configuration({"execution.checkpointing.dir": sys.argv[1]})
env = StreamExecutionEnvironment.get_execution_environment(settings)
source = DataGeneratorSource(lambda index: index, None, RateLimiterStrategy.per_second(10))
env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").print()
env.execute_async("killed")
while not any(Mailbox(os.path.join(sys.argv[1], n)).running() for n in os.listdir(sys.argv[1])):
    pass
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_job_that_was_killed_does_not_run(place: Any, millrace: Any) -> None:
    """Though its note is still there."""
    place.checkpoints.mkdir(parents=True)
    command = [sys.executable, "-c", KILLED, str(place.checkpoints)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    assert subprocess.run(command, env=environment, check=False).returncode == -signal.SIGKILL
    [job_dir] = place.checkpoints.iterdir()
    assert (job_dir / "control" / "run.json").exists()
    [job] = json.loads(millrace("list", "--json").out)
    assert (job["state"], job["pid"]) == ("killed", None)
    assert "is not running" in millrace("cancel", job["id"]).err


def test_stop_with_a_checkpoint_only(start: Any, place: Any, millrace: Any) -> None:
    client = start()
    told = millrace("stop", "numbers", "--no-savepoint")
    assert told.out == "job 'numbers' has ended with a checkpoint\n"
    assert status(client) is JobStatus.SUSPENDED
    assert not place.savepoints.exists()


def test_cancel(start: Any, millrace: Any) -> None:
    client = start()
    assert millrace("cancel", "numbers").out == "job 'numbers' was cancelled\n"
    with pytest.raises(JobCancelledError):
        client.result(PATIENCE)


def test_rescale(start: Any, place: Any, millrace: Any) -> None:
    start()
    told = millrace("rescale", "numbers", "-p", "3")
    assert (told.code, told.out) == (0, "job 'numbers' runs with parallelism 3\n"), told.err
    path = millrace("savepoint", "numbers").out.strip()
    assert max(open_snapshot(path).manifest.stages.values()) == 3
    impossible = millrace("rescale", "numbers", "-p", "1000")
    assert impossible.code == 1
    assert impossible.err.startswith("millrace: job 'numbers': ")


def test_what_the_job_cannot_do_is_told(start: Any, place: Any, millrace: Any) -> None:
    client = start()
    (place.directory / "file").write_text("")
    told = millrace("savepoint", "numbers", place.directory / "file")
    assert told.code == 1
    assert told.err.startswith("millrace: job 'numbers': cannot write ")
    assert client.get_job_status().result() is JobStatus.RUNNING


def test_a_job_goes_on_from_its_savepoint(start: Any, place: Any, millrace: Any) -> None:
    start()
    while not total(millrace("savepoint", "numbers").out.strip()):
        pass  # no record yet
    told = json.loads(millrace("stop", "numbers", "--json").out)
    before = total(told["savepoint"])
    start(2, **{"execution.state-recovery.path": told["savepoint"]})
    after = millrace("savepoint", "numbers").out.strip()
    assert total(after) >= before > 0
    assert open_snapshot(after).manifest.ancestor == Path(told["savepoint"]).name


def total(path: str) -> int:
    reader = SnapshotReader(open_snapshot(path))
    [info] = [info for info in reader.states() if info.uid == "sum" and not info.shape.is_timers]
    return sum(entry.value for entry in reader.entries(info))
