"""Runs the same remote functions on Stateful Functions' own runtime, from Maven Central."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

import psutil
from bar import Data
from engines import PEERS
from job_process import JOBS, LOGS, MeasurementError, end_group, our_environment

VERSION = "3.3.0"
TRANSPORTS = "async", "okhttp"
_OPENED = "lang", "util", "util.concurrent", "net", "nio", "io", "time"
"""Packages of Java into which this Flink looks: it was made for Java 11."""
_POLL = 0.02


def classpath() -> str:
    """Jars and the compiled job. Raises MeasurementError where they cannot be had."""
    default = Path.home() / ".cache" / "millrace-bench"
    directory = Path(os.environ.get("MILLRACE_BENCH_HOME", default)) / f"statefun-{VERSION}"
    jars = directory / "jars"
    if not (directory / ".installed").exists():
        goal = ["dependency:copy-dependencies", f"-DoutputDirectory={jars}"]
        _made("mvn", "-q", "-B", "-f", PEERS / "statefun-pom.xml", *goal, "-DincludeScope=runtime")
        (directory / ".installed").touch()
    # this jar has some classes of the others, as it needs them
    found = f"{jars}/statefun-flink-datastream-{VERSION}.jar:{jars}/*"
    _made("javac", "-nowarn", "-cp", found, "-d", directory, PEERS / "StatefunPeer.java")
    return f"{directory}:{found}"


def _made(program: str, *arguments: object) -> None:
    path = shutil.which(program)
    if path is None:
        raise MeasurementError(f"Stateful Functions' runtime needs {program}")
    command = [path, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip()[-300:]
        raise MeasurementError(f"{program} failed: {said}")


def peer_rate(
    transport: str, messages: int, addresses: int, rounds: tuple[int, int], batch: int
) -> Data:
    """Seconds between the invocations of few rounds and those of many, as the functions count
    them."""
    few, many = rounds
    with tempfile.TemporaryDirectory(prefix="millrace-bench-") as scratch, _functions() as served:
        url, server = served
        sizes = map(str, (messages, addresses, many, batch))
        peer = _started(url, *sizes, transport, Path(scratch).as_uri())
        try:
            began = _reached(peer, url, messages * few)
            before = sum(server.cpu_times()[:2])
            ended = _reached(peer, url, messages * many)
            cpu = sum(server.cpu_times()[:2]) - before
        finally:
            end_group(peer)
    invocations = messages * (many - few)
    return {
        "transport": transport,
        "invocations": invocations,
        "seconds": ended - began,
        "function_cpu_us": 1e6 * cpu / invocations,
    }


def _started(*arguments: str) -> subprocess.Popen[bytes]:
    """The runtime with its job."""
    opened = [f"--add-opens=java.base/java.{package}=ALL-UNNAMED" for package in _OPENED]
    quiet = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"
    command = ["java", "-Xmx1g", *opened, quiet, "-cp", classpath(), "StatefunPeer", *arguments]
    LOGS.mkdir(parents=True, exist_ok=True)
    with (LOGS / "statefun_peer.log").open("wb") as log:
        return subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)


@contextmanager
def _functions() -> Iterator[tuple[str, psutil.Process]]:
    """URL and process of a server of the functions."""
    command = [sys.executable, str(JOBS / "sdk_functions.py")]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=our_environment()
    ) as process:
        assert process.stdout is not None
        url = f"http://127.0.0.1:{process.stdout.readline().strip()}"
        try:
            yield url, psutil.Process(process.pid)
        finally:
            process.kill()


def _reached(peer: subprocess.Popen[bytes], url: str, invocations: int) -> float:
    """Wait for so many invocations. Returns the time of the clock `time.perf_counter`."""
    until = time.monotonic() + 300
    while True:
        with urlopen(url, timeout=60) as reply:
            count = int(reply.read())
        if count >= invocations:
            return time.perf_counter()
        if peer.poll() is not None or time.monotonic() > until:
            raise MeasurementError(f"Stateful Functions' runtime stopped after {count} invocations")
        time.sleep(_POLL)
