"""Temporary directories of processes that were killed, and of those that live."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from millrace.filesystem.scratch_directory import ScratchDirectory

OWNER = """
import sys, tempfile
tempfile.tempdir = sys.argv[1]
from millrace.filesystem.scratch_directory import ScratchDirectory
scratch = ScratchDirectory("tests")
(scratch.path / "rows").write_text("kept")
print(scratch.path, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.fixture
def owner(root: Path) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """Another process, and its directory, both of some age."""
    process = subprocess.Popen(
        [sys.executable, "-c", OWNER, str(root)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    path = Path(process.stdout.readline().strip())
    os.utime(path.parent / "in-use", (1_000_000, 1_000_000))
    yield process, path
    process.kill()
    process.communicate()


def test_what_others_lay_out_is_left_alone(root: Path) -> None:
    """A link in the place of the lock would let them change the mode of a file of ours."""
    mine = root / "mine"
    mine.write_text("x")
    mine.chmod(0o644)
    planted = root / "millrace-tests-planted"
    planted.mkdir()
    (planted / "in-use").symlink_to(mine)
    os.utime(mine, (1_000_000, 1_000_000))
    os.utime(planted / "in-use", (1_000_000, 1_000_000), follow_symlinks=False)
    ScratchDirectory("tests").remove()
    assert mine.stat().st_mode & 0o777 == 0o644
    assert planted.is_dir()


def test_it_goes_with_what_is_in_it(root: Path) -> None:
    scratch = ScratchDirectory("tests")
    (scratch.path / "below").mkdir()
    scratch.remove()
    assert list(root.iterdir()) == []


def test_what_a_killed_process_left_is_deleted(
    root: Path, owner: tuple[subprocess.Popen[str], Path]
) -> None:
    process, path = owner
    ScratchDirectory("tests").remove()
    assert (path / "rows").read_text() == "kept"  # it lives
    process.send_signal(signal.SIGKILL)
    process.wait()
    ScratchDirectory("others").remove()
    assert path.exists()
    ScratchDirectory("tests").remove()
    assert list(root.iterdir()) == []


def test_what_is_young_or_has_no_lock_is_left(root: Path) -> None:
    """Its owner has not come so far, or it is somebody else's."""
    young, foreign = root / "millrace-tests-young", root / "millrace-tests-foreign"
    for directory in (young, foreign):
        directory.mkdir()
    (young / "in-use").touch()
    ScratchDirectory("tests").remove()
    assert sorted(root.iterdir()) == [foreign, young]


def test_what_a_process_left_that_was_killed_before_it_locked_it_is_deleted(root: Path) -> None:
    old, young = root / "millrace-tests-old", root / "millrace-tests-young"
    old.mkdir()
    young.mkdir()
    os.utime(old, (1_000_000, 1_000_000))
    ScratchDirectory("tests").remove()
    assert list(root.iterdir()) == [young]
