"""Directories that belong to one process, while others look for those of the dead."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from millrace.common.errors import StateError
from millrace.state.backend import local_directory
from millrace.state.backend.local_directory import LOCK, UNFINISHED, LocalDirectory, stale


def test_a_sweep_while_one_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Until it is locked it looks like one of the dead; nobody may take it for that."""
    real = local_directory._locked
    swept: list[str] = []

    def sweep_then_lock(path: Path) -> int | None:
        monkeypatch.setattr(local_directory, "_locked", real)
        for left in stale(tmp_path, "pass-"):
            swept.append(left.path.name)
            left.remove()
        return real(path)

    monkeypatch.setattr(local_directory, "_locked", sweep_then_lock)
    made = LocalDirectory.create(tmp_path, "pass-a")
    assert swept == []
    assert [path.name for path in tmp_path.iterdir()] == [made.path.name]
    assert made.path.name.startswith("pass-a-")
    assert list(stale(tmp_path, "pass-")) == []
    made.remove()


def test_one_that_cannot_be_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some file systems of a network have no locks: the user is told what to do."""
    monkeypatch.setattr(local_directory, "_locked", lambda path: None)
    with pytest.raises(StateError, match=r"set state\.backend\.rocksdb\.localdir"):
        LocalDirectory.create(tmp_path, "pass-a")


def test_one_that_goes_while_others_are_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process sweeps, too; what it has deleted hides nothing else."""
    (tmp_path / "keep-b").mkdir()
    gone = tmp_path / "keep-a"
    monkeypatch.setattr(Path, "iterdir", lambda root: iter([gone, tmp_path / "keep-b"]))
    assert [left.path.name for left in stale(tmp_path, "keep-")] == ["keep-b"]


def test_a_lock_file_that_was_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lock on the one before keeps nobody out."""
    real = os.open
    (tmp_path / "a").mkdir()

    def replaced(path: Path, *rest: int) -> int:
        monkeypatch.setattr(os, "open", real)
        opened = real(path, *rest)
        path.unlink()
        path.touch()
        return opened

    monkeypatch.setattr(os, "open", replaced)
    assert LocalDirectory.adopt(tmp_path / "a") is None


def test_one_whose_maker_died_before_it_was_locked(tmp_path: Path) -> None:
    """Goes when it is old."""
    left = tmp_path / f"{UNFINISHED}pass-a"
    left.mkdir()
    assert list(stale(tmp_path, UNFINISHED, 60)) == []
    (left / LOCK).touch()
    for path in (left / LOCK, left):
        os.utime(path, (time.time() - 100,) * 2)
    (found,) = stale(tmp_path, UNFINISHED, 60)
    found.remove()
    assert list(tmp_path.iterdir()) == []


def test_the_age_of_one_in_use(tmp_path: Path) -> None:
    """Counts from when it was last touched, not from when it was made."""
    made = LocalDirectory.create(tmp_path, "keep-a")
    for path in (made.path / LOCK, made.path):
        os.utime(path, (time.time() - 100,) * 2)
    made.touch()
    made.release()
    assert list(stale(tmp_path, "keep-", 60)) == []
    os.utime(made.path / LOCK, (time.time() - 100,) * 2)
    assert list(stale(tmp_path, "keep-", 60, ("keep-b", "keep-a"))) == []
    assert [left.path for left in stale(tmp_path, "keep-", 60)] == [made.path]
