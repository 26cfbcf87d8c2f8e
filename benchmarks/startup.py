"""From the start of ``millrace run`` to the first line that a small job prints."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from statistics import median

from bar import Data, Row, Section
from job_process import JOBS, LOGS, SOURCES, MeasurementError, end_group, our_environment

TITLE = "Start-up"
BAR_SECONDS = 8.0
EPOCHS = "epochs"
MARK = b"first"
"""What `hello.py` begins its lines with."""


def measure(quick: bool) -> Data:
    with tempfile.TemporaryDirectory() as cache:
        # an empty cache: the first run is that of a new machine, and writes the class archive
        os.environ["XDG_CACHE_HOME"] = cache
        first = _once()
        _wait_for_archive(Path(cache))
        # in turn, because the machine may become slower or quicker
        pairs = [(_once(), _once(EPOCHS)) for _ in range(1 if quick else 5)]
        del os.environ["XDG_CACHE_HOME"]
    later, with_epochs = (list(times) for times in zip(*pairs, strict=True))
    return {"first": first, "seconds": later, EPOCHS: with_epochs, "command": _command_name()}


def _wait_for_archive(cache: Path) -> None:
    """The JVM writes it as it ends, behind the back of the command."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not list(cache.glob("millrace/*.jsa")):
        time.sleep(0.5)
    time.sleep(5)


def _once(executor: str = "auto") -> float:
    """Seconds until the first output. With ``auto``, the job gets resident tasks."""
    LOGS.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch, (LOGS / "hello.log").open("wb") as errors:
        started = time.perf_counter()
        process = subprocess.Popen(
            _command(scratch, executor), stdout=subprocess.PIPE, stderr=errors, cwd=scratch,
            env=our_environment(), start_new_session=True,
        )  # fmt: skip
        try:
            seconds = _first_line(process) - started
            process.communicate(timeout=60)
            _wait_for_group(process.pid)
            return seconds
        except subprocess.TimeoutExpired:
            raise MeasurementError("the job printed but did not end (see hello.log)") from None
        finally:
            end_group(process)


def _wait_for_group(group: int) -> None:
    """The JVM outlives the command by a moment, in which it may write the class archive."""
    deadline = time.monotonic() + 30
    with suppress(ProcessLookupError):
        while time.monotonic() < deadline:
            os.killpg(group, 0)
            time.sleep(0.2)


def _first_line(process: subprocess.Popen[bytes]) -> float:
    assert process.stdout is not None
    for line in process.stdout:
        if MARK in line:
            return time.perf_counter()
    raise MeasurementError(f"the job printed nothing, ended with {process.wait()} (see hello.log)")


def _has_cli() -> bool:
    return (SOURCES / "millrace" / "cli" / "main.py").exists()


def _command(scratch: str, executor: str) -> list[str]:
    job = str(JOBS / "hello.py")
    if not _has_cli():
        return [sys.executable, job]
    command = [sys.executable, "-m", "millrace.cli.main", "run", "--checkpoint-dir", scratch]
    return [*command, "--conf", f"millrace.executor={executor}", job]


def _command_name() -> str:
    return "millrace run" if _has_cli() else "python"


def section(data: Data) -> Section:
    seconds = median(data["seconds"])
    row = Row(
        f"from `{data['command']}` to the first output of a small job",
        f"{BAR_SECONDS:.0f} s",
        f"{seconds:.1f} s",
        seconds <= BAR_SECONDS,
    )
    rows = [row]
    text = (
        f"Runs, each a process of its own with a JVM of its own: {_runs(data['seconds'])} s. The "
        f"first run on a machine, without an archive of Spark's classes: {data['first']:.1f} s."
    )
    if EPOCHS in data:  # results of an earlier version have only the default executor
        with_epochs = median(data[EPOCHS])
        name = "the same with `millrace.executor=epochs`"
        reached = with_epochs <= BAR_SECONDS
        rows.append(Row(name, f"{BAR_SECONDS:.0f} s", f"{with_epochs:.1f} s", reached))
        text += f" In turn with these, with a Spark job per epoch: {_runs(data[EPOCHS])} s."
    return Section(rows, [text])


def _runs(seconds: list[float]) -> str:
    return ", ".join(f"{s:.1f}" for s in seconds)
