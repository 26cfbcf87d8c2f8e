"""What a registry keeps, in SQLite and in PostgreSQL alike."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.exc import OperationalError, SQLAlchemyError

from millrace.common.errors import ConfigurationError
from millrace.common.job import JobStatus
from millrace.server.registry import (
    JobGoal,
    LeadershipLostError,
    ProcessAttempt,
    RegisteredJob,
    Submission,
    TriggeredOperation,
)
from millrace.server.sql_registry import SqlRegistry, registry_is_away

JOB = RegisteredJob("a" * 32, Submission("/srv/job.py", None, ("x", "y"), ("-n",)), created=7)


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
    registry.put_job(replace(later, goal=JobGoal.END, ended=10, error="no disk"))
    registry.close()

    found = SqlRegistry(url)
    assert found.claim()
    assert found.jobs() == [JOB, replace(later, goal=JobGoal.END, ended=10, error="no disk")]
    assert found.unfinished_jobs() == [JOB]
    assert found.job(JOB.id) == JOB
    assert found.job("d" * 32) is None
    assert found.attempts(JOB.id) == [attempt]
    assert found.open_triggers() == [trigger]
    found.put_trigger(replace(trigger, result="{}"))
    assert found.open_triggers() == []
    assert found.trigger(trigger.id) == replace(trigger, result="{}")
    found.close()


def test_restarts_are_starts_after_the_death_of_a_process(url: str) -> None:
    """Neither what never ran, nor what a new leader has to start on its own machine."""
    registry = SqlRegistry(url)
    assert registry.claim()
    others = {"c" * 32: ["crashed: signal 9", ""], "d" * 32: ["crashed: signal 9"]}
    for id, ended_by in others.items():
        for number, outcome in enumerate(ended_by):
            registry.put_attempt(ProcessAttempt(id, number, 1, 5, 6 if outcome else None, outcome))
    assert registry.restarts() == {"c" * 32: 1}, "the other waits"
    assert registry.restarts("c" * 32) == {"c" * 32: 1}
    assert registry.restarts("d" * 32) == {}
    seen = []
    outcomes = (
        "left behind on a", "ended when its server no longer led", "crashed: signal 9",
        "the job had a process already", "crashed: exit code 1", "finished",
    )  # fmt: skip
    for number, outcome in enumerate(outcomes):
        running = ProcessAttempt(JOB.id, number, 100 + number, 5)
        registry.put_attempt(running)
        seen.append(registry.restarts().get(JOB.id, 0))
        registry.put_attempt(replace(running, ended=6, outcome=outcome))
    assert seen == [0, 0, 0, 1, 1, 2]
    registry.close()


def test_a_registry_has_one_server(url: str) -> None:
    first, second = SqlRegistry(url), SqlRegistry(url)
    assert first.claim()
    for _ in range(30):  # more often than the pool has connections
        assert not second.claim()
    first.close()
    assert second.claim()
    second.close()


def test_a_superseded_server_changes_nothing(url: str) -> None:
    """Whatever it wants to write, from the moment on that another one has entered."""
    first, second = SqlRegistry(url), SqlRegistry(url)
    with pytest.raises(LeadershipLostError, match="does not lead"):
        first.put_job(JOB)
    first.enter(3)
    first.put_job(JOB)
    second.enter(4)
    attempt = ProcessAttempt(JOB.id, 0, 123, 5, host="a", space="b", token=4)
    for write in (
        lambda: first.put_job(replace(JOB, error="of a zombie")),
        lambda: first.put_attempt(attempt),
        lambda: first.put_trigger(TriggeredOperation("c" * 32, JOB.id, "savepoint", 9)),
    ):
        with pytest.raises(LeadershipLostError):
            write()
    with pytest.raises(LeadershipLostError, match="fencing token 4"):
        first.enter(3)
    assert (second.job(JOB.id), second.attempts(JOB.id), second.open_triggers()) == (JOB, [], [])
    second.put_attempt(attempt)
    assert first.attempts(JOB.id) == [attempt]
    second.leave()
    with pytest.raises(LeadershipLostError):
        second.put_job(JOB)
    assert second.last_token() == 4
    first.close()
    second.close()


def test_who_claims_a_registry_supersedes_those_before(url: str) -> None:
    before = SqlRegistry(url)
    before.enter(8)
    claimed = SqlRegistry(url)
    assert claimed.claim()
    assert claimed.last_token() == 9
    with pytest.raises(LeadershipLostError):
        before.put_job(JOB)
    before.close()
    claimed.close()


def test_jobs_that_ended_long_ago_are_forgotten(url: str) -> None:
    registry = SqlRegistry(url)
    assert registry.claim()
    ended = [replace(JOB, id=f"{n:032x}", ended=100 - n) for n in range(5)]
    for job in (JOB, *ended):
        registry.put_job(job)
        registry.put_attempt(ProcessAttempt(job.id, 0, 123, 5))
        done = TriggeredOperation(job.id, job.id, "savepoint", 9, result="{}")
        registry.put_trigger(done)
    # the last but one of them has not been told yet what became of its trigger
    registry.put_trigger(TriggeredOperation("f" * 32, ended[3].id, "savepoint", 9))

    assert registry.forget_jobs(2) == [ended[2].id, ended[4].id]
    kept = {JOB.id, ended[0].id, ended[1].id, ended[3].id}
    assert {job.id for job in registry.jobs()} == kept
    for job in (JOB, *ended):
        assert bool(registry.attempts(job.id)) is (job.id in kept)
        assert (registry.trigger(job.id) is not None) is (job.id in kept)
    assert registry.forget_jobs(2) == []
    registry.leave()
    with pytest.raises(LeadershipLostError):
        registry.forget_jobs(0)
    assert {job.id for job in registry.jobs()} == kept
    registry.close()


def test_an_error_tells_no_arguments(tmp_path: Path) -> None:
    """They may be passwords, and errors are logged."""
    registry = SqlRegistry(f"sqlite:///{tmp_path}/registry.db")
    assert registry.claim()
    with registry.engine.begin() as connection:
        connection.exec_driver_sql("DROP TABLE millrace_jobs")
    with pytest.raises(SQLAlchemyError) as raised:
        registry.put_job(replace(JOB, submission=Submission("job.py", None, ("s3cret",))))
    assert "s3cret" not in str(raised.value)
    registry.close()


def test_only_its_user_reads_it(tmp_path: Path) -> None:
    SqlRegistry(f"sqlite:///{tmp_path}/new/registry.db").close()
    assert (tmp_path / "new/registry.db").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("url", ["mysql://host/db", "not a url", "sqlite://"])
def test_other_databases_are_refused(url: str) -> None:
    with pytest.raises(ConfigurationError):
        SqlRegistry(url)


def test_answered_triggers_are_remembered_for_a_while(url: str) -> None:
    registry = SqlRegistry(url)
    assert registry.claim()
    for number in range(6):
        trigger = TriggeredOperation(f"{number:032x}", JOB.id, "savepoint", number)
        registry.put_trigger(replace(trigger, result="{}") if number else trigger)
    registry.put_trigger(TriggeredOperation("e" * 32, "", "disposal", 0, error="gone"))
    registry.forget_triggers(JOB.id, 2)
    kept = [number for number in range(6) if registry.trigger(f"{number:032x}")]
    assert kept == [0, 4, 5], "the first one has not been answered"
    assert registry.trigger("e" * 32)
    registry.forget_triggers("", 0)
    assert registry.trigger("e" * 32) is None
    registry.close()


def test_a_database_that_stands_still_is_not_waited_for(
    postgresql, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its machine still acknowledges what arrives; another process of it may answer."""
    monkeypatch.setattr("millrace.server.timed_connection.ANSWER_TIME", 0.3)
    url = postgresql.url(postgresql.create_database()).replace("postgresql:", "postgresql+psycopg:")
    registry = SqlRegistry(url)
    registry.claim()
    registry.put_job(JOB)
    with registry.engine.connect() as connection:
        process = connection.execute(text("SELECT pg_backend_pid()")).scalar()
        connection.rollback()
        os.kill(process, signal.SIGSTOP)
        try:
            with pytest.raises(OperationalError, match="not answered for 0.3 s") as raised:
                connection.execute(text("SELECT 1"))
        finally:
            os.kill(process, signal.SIGCONT)
    assert registry_is_away(raised.value)
    assert registry.jobs() == [JOB]
    registry.close()
