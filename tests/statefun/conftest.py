"""Functions of Flink's Python SDK, embedded or in a process of their own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TypeAlias

import pytest

from millrace.engine.resident.tasks import ResidentSettings
from millrace.testing import MiniCluster, run_local
from millrace.testing.resident_tasks import local_resident_executor

Running: TypeAlias = Callable[[], AbstractContextManager[MiniCluster]]


@pytest.fixture(params=["epochs", "resident"])
def running(request: pytest.FixtureRequest) -> Running:
    """Context in which jobs run, in small epochs or on resident tasks in threads."""
    if request.param == "epochs":
        return lambda: run_local(workers=2, seed=3, epoch_records=10)
    settings = ResidentSettings(barrier_interval=20)
    return lambda: run_local(executor=lambda: local_resident_executor(2, settings))


@pytest.fixture(scope="session")
def greeter_url() -> Iterator[str]:
    """URL of the functions of ``greeter_functions`` in a process of their own."""
    command = [sys.executable, str(Path(__file__).parent / "greeter_functions.py")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        port = process.stdout.readline().strip()
        yield f"http://127.0.0.1:{port}"
        process.terminate()
