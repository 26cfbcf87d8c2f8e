"""Following the job that a server runs."""

from __future__ import annotations

import io
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from millrace.cli import server_run
from millrace.cli.arguments import UsageError
from millrace.cli.parser import parse
from millrace.cli.server_client import ServerAwayError
from millrace.cli.terminal import Terminal
from millrace.common.errors import JobControlError


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Time goes on only while somebody sleeps."""
    clock = SimpleNamespace(now=0.0)

    def sleep(seconds: float) -> None:
        clock.now += seconds

    monkeypatch.setattr(
        server_run, "time", SimpleNamespace(monotonic=lambda: clock.now, sleep=sleep)
    )
    return clock


def asked(ask: Any) -> tuple[Any, str]:
    out = io.StringIO()
    return server_run._await(ask, Terminal(out)), out.getvalue()


def test_a_server_that_comes_back_is_waited_for(clock: SimpleNamespace) -> None:
    def ask() -> str:
        if clock.now < 20:
            raise ServerAwayError("no answer")
        return "here"

    answer, said = asked(ask)
    assert answer == "here"
    assert said == "millrace: no answer; the job continues, and the server is asked again\n"


def test_one_that_stays_away_is_given_up(clock: SimpleNamespace) -> None:
    def ask() -> None:
        raise ServerAwayError("no answer")

    with pytest.raises(ServerAwayError, match="no answer"):
        asked(ask)
    assert clock.now >= server_run.PATIENCE


def test_a_refusal_is_final(clock: SimpleNamespace) -> None:
    def ask() -> None:
        raise JobControlError("there is no such job")

    with pytest.raises(JobControlError, match="no such job"):
        asked(ask)
    assert clock.now == 0


def request(tmp_path: Path, *words: str) -> dict[str, Any]:
    """What the server is asked for."""
    job = tmp_path / "job.py"
    job.write_text("")
    line = ["run", "--server", "http://127.0.0.1:1", *words, str(job)]
    return server_run.run_request(parse(line))


def test_settings_of_the_environment_give_way_to_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Secrets need not be on the command line, which every user of the machine sees."""
    said = '{"metrics.reporter.dog.apikey": "geheim", "pipeline.max-parallelism": "2"}'
    monkeypatch.setenv("MILLRACE_SETTINGS", said)
    asked_for = request(tmp_path, "--conf", "pipeline.max-parallelism=3")
    assert asked_for["flinkConfiguration"] == {
        "metrics.reporter.dog.apikey": "geheim",
        "pipeline.max-parallelism": "3",
    }
    assert "MILLRACE_SETTINGS" not in os.environ


def test_unknown_settings_of_the_environment_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MILLRACE_SETTINGS", '{"pipeline.max-paralelism": "2"}')
    with pytest.raises(UsageError, match=r"did you mean 'pipeline\.max-parallelism'"):
        request(tmp_path)
