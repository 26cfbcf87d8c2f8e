"""The stacks of a test that hangs are written, and quick tests do not pay for it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from hang_dump import HANGS_AFTER_S, RENEWED_AFTER_S, HangDump

RUNS = Path(__file__).parent
HANGS = """
import time

def test_quick():
    pass

def test_that_hangs():
    time.sleep(2)
"""


def test_the_stacks_are_those_of_the_test_that_hangs(tmp_path: Path) -> None:
    (tmp_path / "test_hanging.py").write_text(HANGS)
    (tmp_path / "conftest.py").write_text(
        "import hang_dump\n"
        "hang_dump.HANGS_AFTER_S = 0.5\n"
        "def pytest_configure(config): hang_dump.pytest_configure(config)\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "test_hanging.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(RUNS), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "in test_that_hangs\n" in done.stderr


def one_test(plugin: HangDump) -> None:
    list(plugin.pytest_runtest_protocol())


def test_a_thread_serves_the_tests_of_some_seconds() -> None:
    armed: list[float] = []
    now = [100.0]
    plugin = HangDump(armed.append, lambda: now[0])
    for _ in range(50):
        one_test(plugin)
        now[0] += RENEWED_AFTER_S / 25
    assert armed == [HANGS_AFTER_S] * 2


def test_after_a_failure_it_is_armed_again() -> None:
    """pytest ends the thread then, for it may wait for somebody at a debugger."""
    armed: list[float] = []
    plugin = HangDump(armed.append, lambda: 0.0)
    one_test(plugin)
    plugin.pytest_exception_interact()
    one_test(plugin)
    plugin.pytest_enter_pdb()
    one_test(plugin)
    assert len(armed) == 3
