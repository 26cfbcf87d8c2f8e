"""Functions of Flink's Python SDK, embedded or in a process of their own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def greeter_url() -> Iterator[str]:
    """URL of the functions of ``greeter_functions`` in a process of their own."""
    command = [sys.executable, str(Path(__file__).parent / "greeter_functions.py")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        port = process.stdout.readline().strip()
        yield f"http://127.0.0.1:{port}"
        process.terminate()
