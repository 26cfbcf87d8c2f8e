"""A real job server in a process of its own, for measurements of it and of the jobs it runs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import psutil
from job_process import LOGS, MeasurementError, our_environment

TESTS = Path(__file__).resolve().parent.parent / "tests" / "server"
SPARK = ("-m", "millrace.cli.main", "server")
WITHOUT_SPARK = (str(TESTS / "jobs" / "server_process.py"),)
"""Its jobs run in their own process: many of them fit on one machine."""
PATIENCE_S = 180


class BenchServer:
    """A server, and the jobs that were submitted to it."""

    def __init__(self, directory: Path, process: subprocess.Popen[bytes]) -> None:
        from millrace.common.errors import StateError
        from millrace.server.server_address import ServerAddress

        self.directory = directory
        self.process = process
        self.jobs: list[str] = []

        def started() -> bool:
            if process.poll() is not None:
                raise MeasurementError("the server did not start; see bench_server.log")
            with suppress(StateError):
                self.url = ServerAddress.read(directory).url
                return True
            return False

        wait_until(started, "the server's start")
        self.http = httpx.Client(base_url=self.url, timeout=60)

    def get(self, path: str) -> Any:
        """What the server answers."""
        answer = self.http.get(path)
        answer.raise_for_status()
        return answer.json()

    def post(self, path: str, **asked: Any) -> Any:
        """What the server answers."""
        answer = self.http.post(path, **asked)
        answer.raise_for_status()
        return answer.json()

    def submit(self, program: Path, *arguments: object) -> str:
        """Upload and run a program; the id of its job."""
        with program.open("rb") as file:
            sent = self.post("/jars/upload", files={"jarfile": (program.name, file)})
        asked = {"programArgsList": [str(argument) for argument in arguments]}
        jar = sent["filename"].rpartition("/")[2]
        job = str(self.post(f"/jars/{jar}/run", json=asked)["jobid"])
        self.jobs.append(job)
        return job

    def await_epoch(self, job: str, epoch: int) -> None:
        """Wait until a job has come to an epoch."""
        wait_until(lambda: self._epoch(job) >= epoch, f"epoch {epoch} of job {job}")

    def _epoch(self, job: str) -> int:
        details = self.get(f"/jobs/{job}")
        if details["state"] == "FAILED":
            raise MeasurementError(f"the job has failed: {details['error']}")
        return int(details["epoch"])

    def process_of(self, job: str) -> int:
        """The id of the process of a job's driver."""
        return int(self.get(f"/jobs/{job}/attempts")["attempts"][-1]["pid"])

    def end(self) -> None:
        """Cancel the jobs, then end the server."""
        with suppress(httpx.HTTPError):
            drivers = []
            for job in self.jobs:
                with suppress(psutil.NoSuchProcess):
                    drivers.append(psutil.Process(self.process_of(job)))
                self.http.patch(f"/jobs/{job}?mode=cancel")
            _, left = psutil.wait_procs(drivers, PATIENCE_S)
            for driver in left:
                os.killpg(driver.pid, signal.SIGKILL)
        self.process.terminate()
        self.process.wait(30)


def wait_until(condition: Any, what: str, patience_s: float = PATIENCE_S) -> float:
    """Wait until something is so; returns after how many seconds it was.

    Raises MeasurementError when it never comes.
    """
    begun = time.monotonic()
    while not condition():
        if time.monotonic() - begun > patience_s:
            raise MeasurementError(f"{what} did not come within {patience_s:.0f} s")
        time.sleep(0.05)
    return time.monotonic() - begun


@contextmanager
def bench_server(program: Sequence[str] = SPARK) -> Iterator[BenchServer]:
    """A server with uploads and without tokens, which ends with the block."""
    LOGS.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="millrace-bench-") as scratch:
        command = [sys.executable, *program, "--port", "0", "--no-auth", "--allow-uploads"]
        command += ["--directory", f"{scratch}/server"]
        environment = {**our_environment(), "XDG_STATE_HOME": f"{scratch}/state"}
        with (LOGS / "bench_server.log").open("wb") as log:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment
            )
        try:
            server = BenchServer(Path(scratch) / "server", process)
            try:
                yield server
            finally:
                server.end()
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
