"""What the fault tests share: where their jobs are, and how to run them in processes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent / "jobs"))

from fault_lives import JOBS, Life, Lives, environment

from millrace.datastream.job_launcher import JobLauncher


@pytest.fixture(autouse=True)
def _launcher() -> Iterator[None]:
    """Each test begins and ends with the default launcher."""
    JobLauncher.install(None)
    yield
    JobLauncher.install(None)


@pytest.fixture(params=["epochs", "resident"])
def executor(request: pytest.FixtureRequest) -> str:
    """Each executor."""
    return str(request.param)


@pytest.fixture
def live_and_die(tmp_path: Path) -> Callable[..., Lives]:
    """Runs drivers without Spark, one per trap; keywords are those of `mortal_drivers.Request`."""

    def run(traps: list[str], directory: str | Path = tmp_path, **request: Any) -> Lives:
        done = subprocess.run(
            [sys.executable, str(JOBS / "mortal_drivers.py")],
            input=json.dumps({"directory": str(directory), "traps": traps, **request}),
            env=environment(),
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
        )
        assert done.returncode == 0, done.stderr
        return Lives(tmp_path, [Life(**life) for life in json.loads(done.stdout)], done.stderr)

    return run
