"""Crash hooks: off by default, exact when switched on, inherited by child processes."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys

import pytest

from millrace.common.errors import ConfigurationError
from millrace.filesystem import crash_points as crash

SCRIPT = """
from millrace.filesystem.crash_points import crash_point
for turn in range(4):
    print(turn, flush=True)
    try:
        crash_point("here")
    except OSError as error:
        print(error, flush=True)
    crash_point("there")
"""


def run(spec: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, crash.VARIABLE: spec}
    return subprocess.run(
        [sys.executable, "-c", SCRIPT], env=env, capture_output=True, text=True, check=False
    )


def test_nothing_happens_unless_asked() -> None:
    """Without the variable a crash point is passed."""
    result = run("")
    assert (result.returncode, result.stdout) == (0, "0\n1\n2\n3\n")


def test_the_process_is_killed_at_the_given_passing() -> None:
    """SIGKILL, at the third time, of that name only."""
    result = run("here:3")
    assert result.returncode == -signal.SIGKILL
    assert result.stdout.split() == ["0", "1", "2"]


def test_several_traps() -> None:
    """Names count for themselves; the first that is due wins."""
    result = run("here:4,there:2")
    assert result.returncode == -signal.SIGKILL
    assert result.stdout.split() == ["0", "1"]


def test_a_full_disk_is_raised() -> None:
    """The variant with ":raise" goes on when the error is handled."""
    result = run("here:2:raise")
    assert result.returncode == 0
    assert "No space left on device (injected at here)" in result.stdout.splitlines()[2]


def test_raise_is_enospc(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error number is that of a full disk."""
    monkeypatch.setattr(crash, "_TRAPS", crash._parse("unit:1:raise"))
    with pytest.raises(OSError, match="No space left") as caught:
        crash.crash_point("unit")
    assert caught.value.errno == errno.ENOSPC
    crash.crash_point("unit")


@pytest.mark.parametrize("spec", ["x", "x:", "x:0", "x:-1", "x:one", ":1", "x:1:explode"])
def test_a_wrong_item_is_refused(spec: str) -> None:
    """A typing error must not make a fault test pass."""
    with pytest.raises(ConfigurationError, match="name:count"):
        crash._parse(spec)
