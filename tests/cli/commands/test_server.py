"""What ``millrace server`` makes of its command line."""

from __future__ import annotations

import os
from pathlib import Path
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


def test_the_file_goes_under_environment_and_command_line(
    started: list[Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(
        f"""\
rest: {{port: 8090, bind-address: 127.0.0.2}}
web.submit.enable: true
millrace.server:
  directory: {tmp_path / "kept"}
  registry: sqlite:////tmp/file.db
jobstore.max-capacity: 7
execution.checkpointing.savepoint-dir: {tmp_path / "savepoints"}
parallelism.default: 4
spark.master: spark://node:7077
"""
    )
    monkeypatch.setenv("MILLRACE_REGISTRY", POSTGRES)
    assert main(["server", "--config", str(file), "--port", "8099"]) == 0
    [options] = started
    assert (options.host, options.port) == ("127.0.0.2", 8099)
    assert options.registry == POSTGRES
    assert options.allow_uploads
    assert options.directory == tmp_path / "kept"
    assert options.savepoints == tmp_path / "savepoints"
    own = options.configuration
    origins = {key: str(own.origin(key)) for key in own.key_set()}
    assert origins == {
        "rest.port": "command-line",
        "rest.bind-address": "config.yaml",
        "web.submit.enable": "config.yaml",
        "millrace.server.directory": "config.yaml",
        "millrace.server.registry": "environment",
        "jobstore.max-capacity": "config.yaml",
    }
    assert options.job_defaults.to_dict() == {
        "execution.checkpointing.savepoint-dir": str(tmp_path / "savepoints"),
        "parallelism.default": "4",
        "spark.master": "spark://node:7077",
    }


def test_without_a_file_the_defaults_hold(started: list[Any]) -> None:
    assert main(["server"]) == 0
    [options] = started
    assert (options.host, options.port) == ("127.0.0.1", 8081)
    assert not options.allow_uploads
    assert options.config_file is None
    assert options.job_defaults.key_set() == set()


def test_a_misspelt_key_in_the_file_is_refused(
    started: list[Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "config.yaml").write_text("jobstore.max-capacty: 7\n")
    assert main(["server", "--config", str(tmp_path)]) == 2
    told = capsys.readouterr().err
    assert "config.yaml, line 1: unknown configuration key 'jobstore.max-capacty'" in told
    assert "did you mean 'jobstore.max-capacity'?" in told
    assert started == []
