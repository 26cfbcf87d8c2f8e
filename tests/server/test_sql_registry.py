"""What a registry keeps, in SQLite and in PostgreSQL alike."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from millrace.common.errors import ConfigurationError, StateError
from millrace.common.job import JobStatus
from millrace.server.registry import (
    Goal,
    ProcessAttempt,
    RegisteredJob,
    Submission,
    TriggeredOperation,
)
from millrace.server.sql_registry import SqlRegistry

JOB = RegisteredJob("a" * 32, Submission("/srv/job.py", None, ("x", "y"), ("-n",)), created=7)


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/server/registry.db"
        return
    server = request.getfixturevalue("postgresql")
    yield server.url(server.create_database()).replace("postgresql:", "postgresql+psycopg:")


def test_everything_is_kept(url: str) -> None:
    registry = SqlRegistry(url)
    assert registry.claim()
    later = replace(JOB, id="b" * 32, created=8, status=JobStatus.RUNNING)
    attempt = ProcessAttempt(JOB.id, 0, 123, 5)
    trigger = TriggeredOperation("c" * 32, JOB.id, "savepoint", 9, "run-1", "m1")
    for _ in range(2):
        registry.put_job(later)
        registry.put_job(JOB)
        registry.put_attempt(attempt)
        registry.put_trigger(trigger)
    registry.put_job(replace(later, goal=Goal.END, ended=10, error="no disk"))
    registry.close()

    found = SqlRegistry(url)
    assert found.claim()
    assert found.jobs() == [JOB, replace(later, goal=Goal.END, ended=10, error="no disk")]
    assert found.unfinished_jobs() == [JOB]
    assert found.job(JOB.id) == JOB
    assert found.job("d" * 32) is None
    assert found.attempts(JOB.id) == [attempt]
    assert found.open_triggers() == [trigger]
    found.put_trigger(replace(trigger, result="{}"))
    assert found.open_triggers() == []
    assert found.trigger(trigger.id) == replace(trigger, result="{}")
    found.close()


def test_a_registry_has_one_server(url: str) -> None:
    first, second = SqlRegistry(url), SqlRegistry(url)
    assert first.claim()
    for _ in range(30):  # more often than the pool has connections
        assert not second.claim()
    first.close()
    assert second.claim()
    second.close()


def test_a_later_version_is_left_alone(url: str) -> None:
    SqlRegistry(url).close()
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.execute(text("UPDATE millrace_schema SET version = 99"))
    engine.dispose()
    with pytest.raises(StateError, match="version 99"):
        SqlRegistry(url)


def test_only_its_user_reads_it(tmp_path: Path) -> None:
    SqlRegistry(f"sqlite:///{tmp_path}/new/registry.db").close()
    assert (tmp_path / "new/registry.db").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("url", ["mysql://host/db", "not a url", "sqlite://"])
def test_other_databases_are_refused(url: str) -> None:
    with pytest.raises(ConfigurationError):
        SqlRegistry(url)
