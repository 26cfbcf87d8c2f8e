"""Supervisors of real processes, whose jobs run without Spark."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from millrace.server.access_tokens import AccessTokens
from millrace.server.application import create_application
from millrace.server.job_server import JobServer
from millrace.server.registry import RegisteredJob, Submission
from millrace.server.sql_registry import SqlRegistry
from millrace.server.supervisor import Supervisor

sys.path.insert(0, str(Path(__file__).parent))

import gallery  # beside this file: tests are no packages
from running import unavailable
from server_group import OTHER_MACHINE

JOBS = Path(__file__).parent / "jobs"
TOKENS = AccessTokens(read="r" * 20, operate="o" * 20)
COMMAND = (sys.executable, str(JOBS / "local_millrace.py"))
COUNTING = str(JOBS / "counting.py")
DEADLINE = 60.0


def await_that(condition: Callable[[], object], what: str = "it") -> None:
    """Wait until something is so; the deadline only ends tests that have failed."""
    deadline = time.monotonic() + DEADLINE
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not happen"
        time.sleep(0.05)


@pytest.fixture(scope="session")
def namespaces() -> None:
    """Processes can be started as on another machine."""
    try:
        for command in ((*OTHER_MACHINE, "true"), ("ip", "netns", "list")):
            subprocess.run(command, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        unavailable["namespaces"] = f"ip and unshare need root: {error}"
        pytest.skip("no namespaces")


class Servers:
    """Supervisors of one registry, one after the other."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.supervisor = self.next()

    def next(self) -> Supervisor:
        """A server takes the place of one that was killed."""
        self.registry = SqlRegistry(f"sqlite:///{self.directory}/registry.db")
        self.supervisor = Supervisor(self.registry, self.directory / "jobs", COMMAND, follows=False)
        self.token = self.registry.last_token() + 1
        self.registry.enter(self.token)
        self.supervisor.lead(self.token)
        return self.supervisor

    def job(self, id: str) -> RegisteredJob:
        self.supervisor.look()
        job = self.registry.job(id)
        assert job is not None
        return job

    def status(self, id: str) -> str:
        return self.job(id).status.name

    def counts(self, *options: str, last: int = 10**9) -> RegisteredJob:
        """A job that counts."""
        arguments = (str(self.directory / "out"), str(last))
        return self.supervisor.submit(Submission(COUNTING, "counting", arguments, options))

    def runs(self, id: str) -> bool:
        """Whether a checkpoint is complete."""
        archive = self.supervisor.process(id).archive()
        if self.job(id).is_over:
            raise AssertionError(self.supervisor.process(id).log_tail())
        return archive is not None and bool(archive.details.checkpoint)

    def outputs(self) -> list[int]:
        files = [p for p in (self.directory / "out").rglob("part-*") if "inprogress" not in p.name]
        return sorted(int(line) for path in files for line in path.read_text().split())


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Address of a new registry, in SQLite and in PostgreSQL."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/server/registry.db"
    server = request.getfixturevalue("postgresql")
    return server.url(server.create_database()).replace("postgresql:", "postgresql+psycopg:")


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[Servers]:
    made = Servers(tmp_path)
    yield made
    for job in made.registry.jobs():
        pid = made.supervisor.process(job.id).pid()
        if pid is not None:
            with suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
    made.registry.close()


@pytest.fixture
def eventually() -> Callable[..., None]:
    return await_that


@pytest.fixture
def job_server(tmp_path: Path) -> Iterator[JobServer]:
    """A server with jobs in every state, none of which has a process."""
    server = gallery.server_of(tmp_path)
    yield server
    server.registry.close()


@pytest.fixture
def api(job_server: JobServer) -> TestClient:
    """A client that may operate it."""
    headers = {"Authorization": f"Bearer {TOKENS.operate}"}
    return TestClient(create_application(job_server, TOKENS), headers=headers)
