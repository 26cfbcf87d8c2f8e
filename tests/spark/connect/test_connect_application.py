"""Modules on their way to the workers of a Spark Connect server."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, cast

import pytest

from millrace.common.errors import JobExecutionError
from millrace.spark.connect.connect_application import _ship


class Session:
    """A session that refuses other content under the same name, as Spark's do."""

    def __init__(self) -> None:
        self.artifacts: dict[str, bytes] = {}

    def addArtifacts(self, path: str, pyfile: bool) -> None:
        assert pyfile
        sys.path.insert(1, path)
        content = Path(path).read_bytes()
        if self.artifacts.setdefault(Path(path).name, content) != content:
            raise RuntimeError(f"[ARTIFACT_ALREADY_EXISTS] The artifact {path} already exists")


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(sys, "path", list(sys.path))
    return cast("Any", Session())


def test_several_jobs_of_a_session_ship_directories(session: Any, tmp_path: Path) -> None:
    for name in ("one", "other"):
        (tmp_path / name / "package").mkdir(parents=True)
        (tmp_path / name / "package" / "module.py").write_text(f"NAME = {name!r}")
    _ship(session, [str(tmp_path / "one")])
    (tmp_path / "one" / "package" / "__pycache__").mkdir()
    (tmp_path / "one" / "package" / "__pycache__" / "module.pyc").write_bytes(b"made by an import")
    _ship(session, [str(tmp_path / "other"), str(tmp_path / "one")])
    assert len(session.artifacts) == 2
    assert str(tmp_path / "one") in sys.path
    assert not [entry for entry in sys.path if entry.endswith(".zip") and "-" in Path(entry).name]
    (tmp_path / "one" / "package" / "module.py").write_text("NAME = 'edited'")
    with pytest.raises(JobExecutionError, match="one has changed since another job.*new session"):
        _ship(session, [str(tmp_path / "one")])
