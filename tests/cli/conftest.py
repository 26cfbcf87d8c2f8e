"""The ``millrace`` command in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import PIPE
from typing import Any

import pytest

SOURCES = Path(__file__).parents[2] / "src"
Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts ``millrace`` with these arguments; its state goes to ``tmp_path / "state"``."""
    started: list[subprocess.Popen[str]] = []

    def start(*argv: str, stdout: Any = PIPE, stderr: Any = PIPE) -> subprocess.Popen[str]:
        environment = {
            **os.environ,
            "PYTHONPATH": str(SOURCES),
            "XDG_STATE_HOME": str(tmp_path / "state"),
        }
        process = subprocess.Popen(
            [sys.executable, "-m", "millrace.cli.main", *argv],
            cwd=tmp_path,
            env=environment,
            stdout=stdout,
            stderr=stderr,
            text=True,
            start_new_session=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()
