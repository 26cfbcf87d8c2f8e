"""Running one measurement in a process of its own."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

BENCHMARKS = Path(__file__).resolve().parent
JOBS = BENCHMARKS / "jobs"
SOURCES = BENCHMARKS.parent / "src"
RESULTS = BENCHMARKS / "results"
LOGS = RESULTS / "logs"


class MeasurementError(Exception):
    """A measurement failed; the message says where its output is."""


def our_environment() -> dict[str, str]:
    """The environment of our own jobs: this work tree's package, and the jobs' helper modules."""
    paths = [str(SOURCES), str(JOBS), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}


def run_ours(script: str, *arguments: object, timeout: float = 900) -> dict[str, Any]:
    """Run a script of ``jobs/`` with a fresh checkpoint directory; returns what it reports."""
    with tempfile.TemporaryDirectory(prefix="millrace-bench-") as scratch:
        command = [sys.executable, JOBS / script, *arguments, "--checkpoint-dir", scratch]
        return run(command, our_environment(), timeout)


def run(
    command: Sequence[object], environment: Mapping[str, str] | None = None, timeout: float = 900
) -> dict[str, Any]:
    """Run a command to its end; returns the JSON object in the last line of its output.

    Raises MeasurementError when it fails, or does not end within ``timeout`` seconds.
    """
    words = [str(word) for word in command]
    LOGS.mkdir(parents=True, exist_ok=True)
    log = LOGS / f"{Path(words[1]).stem}.log"
    with log.open("wb") as errors:
        process = subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=errors, env=environment, start_new_session=True
        )
        try:
            output, _ = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            end_group(process)
            raise MeasurementError(f"{_short(words)} took more than {timeout:.0f} s") from None
        except BaseException:
            end_group(process)
            raise
    if process.returncode != 0:
        kept = log.rename(log.with_suffix(".failed.log"))
        raise MeasurementError(
            f"{_short(words)} ended with {process.returncode}: {_last_line(kept)} (see {kept.name})"
        )
    return _report(output.decode(), words)


def end_group(process: subprocess.Popen[bytes]) -> None:
    """End what is left of a process that was started as the leader of its own group."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _report(output: str, words: list[str]) -> dict[str, Any]:
    for line in reversed(output.splitlines()):
        if line.startswith("{"):
            report = json.loads(line)
            assert isinstance(report, dict)
            return report
    raise MeasurementError(f"{_short(words)} reported nothing")


def _short(words: list[str]) -> str:
    return " ".join([Path(words[1]).name, *words[2:6]])


def _last_line(log: Path) -> str:
    """The last line that names an error, else the last one."""
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    named = [line for line in lines if re.match(r"[\w.]*(Error|Exception)\b", line)]
    return (named or lines or ["no message"])[-1][:200]
