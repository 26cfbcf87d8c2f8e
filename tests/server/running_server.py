"""A real job server in a process of its own, and the jobs that it was given: for tests and
measurements."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import psutil

from millrace.common.errors import StateError
from millrace.server.server_address import ServerAddress

JOBS = Path(__file__).parent / "jobs"
SPARK = ("-m", "millrace.cli.main", "server")
WITHOUT_SPARK = (str(JOBS / "server_process.py"),)
"""Its jobs run in their own process: many of them fit on one machine."""
PATIENCE_S = 180.0


def await_that(condition: Callable[[], object], what: str) -> float:
    """Wait until something is so, and return after how many seconds; the deadline only ends tests
    that have failed.

    Raises:
        AssertionError: it never was.
    """
    begun = time.monotonic()
    while not condition():
        assert time.monotonic() - begun < PATIENCE_S, f"{what} did not happen"
        time.sleep(0.05)
    return time.monotonic() - begun


class AnsweringServer:
    """A server that is there already, and wants no token."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.http = httpx.Client(base_url=url, timeout=60)
        self.jobs: list[str] = []
        """Those that were submitted by this object."""

    def get(self, path: str) -> Any:
        """What it answers.

        Raises:
            HTTPError: it refuses, or does not answer.
        """
        answer = self.http.get(path)
        answer.raise_for_status()
        return answer.json()

    def post(self, path: str, **asked: Any) -> Any:
        """What it answers; raises as `get`."""
        answer = self.http.post(path, **asked)
        answer.raise_for_status()
        return answer.json()

    def submit(
        self, program: Path, *arguments: object, configuration: Mapping[str, str] | None = None
    ) -> str:
        """Upload and run a program; the id of its job."""
        with program.open("rb") as file:
            sent = self.post("/jars/upload", files={"jarfile": (program.name, file)})
        asked = {
            "programArgsList": [str(argument) for argument in arguments],
            "flinkConfiguration": dict(configuration or {}),
        }
        jar = sent["filename"].rpartition("/")[2]
        job = str(self.post(f"/jars/{jar}/run", json=asked)["jobid"])
        self.jobs.append(job)
        return job

    def attempts(self, job: str) -> list[dict[str, Any]]:
        """The processes that a job has had."""
        return list(self.get(f"/jobs/{job}/attempts")["attempts"])

    def process_of(self, job: str) -> int:
        """The id of the process of a job's driver."""
        return int(self.attempts(job)[-1]["pid"])

    def await_epoch(self, job: str, epoch: int) -> None:
        """Wait until a job has come to an epoch."""
        await_that(lambda: self._epoch(job) >= epoch, f"epoch {epoch} of job {job}")

    def _epoch(self, job: str) -> int:
        details = self.get(f"/jobs/{job}")
        assert details["state"] != "FAILED", f"the job has failed: {details['error']}"
        return int(details["epoch"])


class RunningServer(AnsweringServer):
    """One server, with uploads and without tokens.

    Args:
        directory: of its own.
        arguments: further words for ``millrace server``.
        before: what its command is wrapped in.
        program: `SPARK` or `WITHOUT_SPARK`.
        out: the file for what it prints; None: ``out`` in its directory.
    """

    def __init__(
        self,
        directory: Path,
        arguments: Sequence[str] = (),
        before: Sequence[str] = (),
        *,
        program: Sequence[str] = WITHOUT_SPARK,
        environment: Mapping[str, str] = os.environ,
        out: Path | None = None,
    ) -> None:
        self.directory = directory
        directory.mkdir(parents=True)
        self._out = out or directory / "out"
        command = [sys.executable, *program, "--port", "0", "--no-auth", "--allow-uploads"]
        command += ["--directory", str(directory), *arguments]
        with self._out.open("wb") as out_file:
            self.process = subprocess.Popen(
                [*before, *command],
                stdin=subprocess.DEVNULL,
                stdout=out_file,
                stderr=out_file,
                env={**environment, "XDG_STATE_HOME": str(directory / "state")},
            )
        self._wrapped = bool(before)
        try:
            await_that(self._has_begun, "a server's start")
        except BaseException:
            self.signal(signal.SIGKILL)
            raise
        super().__init__(ServerAddress.read(directory).url)

    def _has_begun(self) -> bool:
        assert self.process.poll() is None, self._out.read_text()
        with suppress(StateError):
            return bool(ServerAddress.read(self.directory).url)
        return False

    @property
    def pid(self) -> int:
        """Process id of the server itself, not of its wrapper."""
        pid = self.process.pid
        if self._wrapped:
            pid = int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])
        return pid

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal."""
        with suppress(ProcessLookupError, FileNotFoundError, IndexError):
            os.kill(self.pid, number)
        if number is signal.SIGKILL:
            self.process.kill()
            self.process.wait()

    def leads(self) -> bool:
        """Whether it says that it leads."""
        with suppress(httpx.HTTPError):
            return bool(self.get("/health")["leader"])
        return False

    def log(self) -> str:
        """What it has logged."""
        return (self.directory / "server.log").read_text()

    def end(self) -> None:
        """Cancel the jobs that were submitted, then end the server."""
        with suppress(httpx.HTTPError):
            drivers = []
            for job in self.jobs:
                with suppress(psutil.NoSuchProcess):
                    drivers.append(psutil.Process(self.process_of(job)))
                self.http.patch(f"/jobs/{job}?mode=cancel")
            until = time.monotonic() + PATIENCE_S
            while (left := list(filter(_is_alive, drivers))) and time.monotonic() < until:
                time.sleep(0.05)
            for driver in left:
                os.killpg(driver.pid, signal.SIGKILL)
        self.process.terminate()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.signal(signal.SIGKILL)


def _is_alive(process: psutil.Process) -> bool:
    """Whether a process runs; one that has ended may wait until its parent reaps it."""
    with suppress(psutil.NoSuchProcess):
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    return False
