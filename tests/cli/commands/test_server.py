"""What ``millrace server`` makes of its command line."""

from __future__ import annotations

import os
from typing import Any

import pytest

from millrace.cli.main import main
from millrace.server import serving

POSTGRES = "postgresql+psycopg://millrace:secret@db.example.org/millrace"


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> list[Any]:
    """The options of servers that would have been started."""
    options: list[Any] = []
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr(serving, "serve", lambda given, greet: options.append(given))
    return options


def test_the_registry_comes_from_the_environment_and_stays_from_jobs(
    started: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MILLRACE_REGISTRY", POSTGRES)
    assert main(["server"]) == 0
    assert started[0].registry == POSTGRES
    assert "MILLRACE_REGISTRY" not in os.environ
    assert main(["server"]) == 0
    assert started[1].registry is None


def test_the_command_line_goes_over_the_environment(
    started: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MILLRACE_REGISTRY", POSTGRES)
    assert main(["server", "--registry", "sqlite:////tmp/jobs.db"]) == 0
    assert started[0].registry == "sqlite:////tmp/jobs.db"
    assert "MILLRACE_REGISTRY" not in os.environ
