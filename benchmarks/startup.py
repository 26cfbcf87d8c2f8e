"""From the start of ``millrace run`` to the first line that a small job prints."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from statistics import median

from bar import Data, Row, Section
from job_process import JOBS, LOGS, SOURCES, MeasurementError, end_group, our_environment

TITLE = "Start-up"
BAR_SECONDS = 8.0
MARK = b"first"
"""What `hello.py` begins its lines with."""


def measure(quick: bool) -> Data:
    return {"seconds": [_once() for _ in range(1 if quick else 5)], "command": _command_name()}


def _once() -> float:
    LOGS.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch, (LOGS / "hello.log").open("wb") as errors:
        started = time.perf_counter()
        process = subprocess.Popen(
            _command(scratch), stdout=subprocess.PIPE, stderr=errors, cwd=scratch,
            env=our_environment(), start_new_session=True,
        )  # fmt: skip
        try:
            seconds = _first_line(process) - started
            process.communicate(timeout=60)
            return seconds
        except subprocess.TimeoutExpired:
            raise MeasurementError("the job printed but did not end (see hello.log)") from None
        finally:
            end_group(process)


def _first_line(process: subprocess.Popen[bytes]) -> float:
    assert process.stdout is not None
    for line in process.stdout:
        if MARK in line:
            return time.perf_counter()
    raise MeasurementError(f"the job printed nothing, ended with {process.wait()} (see hello.log)")


def _has_cli() -> bool:
    return (SOURCES / "millrace" / "cli" / "main.py").exists()


def _command(scratch: str) -> list[str]:
    job = str(JOBS / "hello.py")
    if not _has_cli():
        return [sys.executable, job]
    return [sys.executable, "-m", "millrace.cli.main", "run", "--checkpoint-dir", scratch, job]


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
    runs = ", ".join(f"{s:.1f}" for s in data["seconds"])
    return Section([row], [f"Runs, each a process of its own with a JVM of its own: {runs} s."])
