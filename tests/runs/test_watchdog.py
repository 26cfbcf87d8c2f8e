"""A process of tests crashes on purpose."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

RUNS = Path(__file__).parent

CRASHES = """
import os, signal, time

def test_before():
    pass

def test_that_crashes():
    {before}
    os.kill(os.getpid(), signal.SIGSEGV)
"""
# a child that lives on holds the pipe by which xdist would see the end
LEAVES_A_CHILD = "os.fork() or time.sleep(10)"
WAITS = """
import time

def test_that_waits():
    time.sleep(300)
"""


@pytest.mark.parametrize("before", ["pass", LEAVES_A_CHILD], ids=["noticed", "hidden"])
def test_a_crash_ends_the_run_and_is_named(before: str, tmp_path: Path) -> None:
    (tmp_path / "test_crashing.py").write_text(CRASHES.format(before=before))
    (tmp_path / "test_waiting.py").write_text(WAITS)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    divided = ["-p", "xdist", "-n", "2", "--dist", "loadfile", "--max-worker-restart", "0"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *divided, "-p", "watchdog", str(tmp_path)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(RUNS), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,  # which is what is promised
    )
    assert done.returncode == pytest.ExitCode.INTERRUPTED, done.stdout + done.stderr
    assert "crashed of SIGSEGV: test_crashing.py::test_that_crashes" in done.stdout, done.stdout
