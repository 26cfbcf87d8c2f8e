"""``millrace savepoint dispose``: deletes a savepoint after a question."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest


def test_it_is_deleted_when_confirmed(
    place: Any, millrace: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, other = place.savepoint(id="a" * 12), place.savepoint(id="b" * 12)
    for answer, gone in (("\n", False), ("no\n", False), ("y\n", True)):
        monkeypatch.setattr("sys.stdin", io.StringIO(answer))
        told = millrace("savepoint", "dispose", path)
        assert (told.code == 0) == gone
        assert path.exists() != gone
        assert f"delete {path} of job 'count'" in told.err
    assert other.exists()


def test_it_need_not_ask(place: Any, millrace: Any) -> None:
    path = place.savepoint(id="a" * 12)
    (path / "notes.txt").write_text("mine")
    told = json.loads(millrace("savepoint", "dispose", "--yes", "--json", "aaaa").out)
    assert told["left"] == [str(path / "notes.txt")]
    assert sorted(path.iterdir()) == [path / "notes.txt"]


def test_a_checkpoint_is_refused(place: Any, millrace: Any) -> None:
    job_dir = place.run("ab")
    for path in (job_dir, job_dir / "chk-1"):
        told = millrace("savepoint", "dispose", "--yes", path)
        assert told.code == 1
        assert "only savepoints can be disposed of" in told.err
    assert (job_dir / "chk-1" / "_metadata").exists()
