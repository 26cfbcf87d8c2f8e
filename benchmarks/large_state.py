"""Running, killing and resuming ``jobs/large_state.py``."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from job_process import JOBS, LOGS, MeasurementError, end_group, our_environment

CAP = 1 << 30
"""Bytes that a Python worker may hold."""


@dataclass
class Run:
    """What one process of the job told."""

    reports: list[dict[str, Any]] = field(default_factory=list)
    finished: bool = False

    @property
    def records(self) -> int:
        return int(self.reports[-1]["records"]) if self.reports else 0

    @property
    def peak(self) -> int:
        """The most that any Python worker held, bytes."""
        return max((peak for report in self.reports for peak in report["peaks"]), default=0)


@contextmanager
def directories() -> Iterator[Path]:
    """For checkpoints and databases."""
    with tempfile.TemporaryDirectory(prefix="millrace-bench-") as scratch:
        yield Path(scratch)


def run_until(scratch: Path, keys: int, *options: str, stop_at: int | None = None) -> Run:
    """Run the job to its end, or kill -9 all of it after ``stop_at`` records."""
    command = [
        sys.executable, JOBS / "large_state.py", "--keys", keys,
        "--checkpoint-dir", scratch / "checkpoints", "--local-dir", scratch / "local", *options,
    ]  # fmt: skip
    LOGS.mkdir(parents=True, exist_ok=True)
    run = Run()
    started = time.time()
    with (LOGS / "large_state.log").open("wb") as errors:
        process = subprocess.Popen(
            [str(word) for word in command],
            stdout=subprocess.PIPE,
            stderr=errors,
            env=our_environment(),
            start_new_session=True,
            text=True,
        )
        assert process.stdout is not None
        try:
            for line in process.stdout:
                if line.startswith("{"):
                    _take(run, json.loads(line), started)
                if stop_at is not None and run.records >= stop_at:
                    break
        finally:
            end_group(process)
    if stop_at is None and not run.finished:
        raise MeasurementError("the job did not finish (see large_state.log)")
    return run


def _take(run: Run, report: dict[str, Any], started: float) -> None:
    if report.get("finished"):
        run.finished = True
    else:
        run.reports.append({**report, "since_start": time.time() - started})
