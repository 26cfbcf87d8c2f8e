"""What a killed process leaves behind goes with the next one."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from millrace.state.backend.scratch_directory import make_scratch_directory, scratch_directory

DIE = """
import os
from millrace.state.backend.scratch_directory import make_scratch_directory
directory = make_scratch_directory()
(directory.path / "rest").write_text("of a dead process")
print(directory.path, flush=True)
os.kill(os.getpid(), 9)
"""


@pytest.fixture(autouse=True)
def _temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)


def test_it_is_deleted_at_the_end() -> None:
    with scratch_directory() as path:
        assert Path(path).stat().st_mode & 0o777 == 0o700
    assert not Path(path).exists()


def test_what_killed_processes_left_is_deleted() -> None:
    alive = make_scratch_directory()
    died = subprocess.run([sys.executable, "-c", DIE], capture_output=True, text=True, check=False)
    left = Path(died.stdout.strip())
    assert (left / "rest").exists(), died.stderr
    with scratch_directory():
        assert not left.exists()
        assert alive.path.exists()
    alive.remove()


def test_nobody_can_stand_in_the_way(tmp_path: Path) -> None:
    (tmp_path / f"millrace-state-{os.getuid()}").mkdir(0o755)
    (tmp_path / f"millrace-state-{os.getuid()}").chmod(0o777)
    with scratch_directory() as path:
        assert Path(path).is_dir()
