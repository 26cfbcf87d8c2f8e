"""Registries of every earlier version become what this one expects, and keep what they have."""

from __future__ import annotations

import threading

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Engine, create_engine, inspect, text

from millrace.common.errors import StateError
from millrace.common.job import JobStatus
from millrace.server.migrations.version_table import VERSION_TABLE
from millrace.server.registry import ProcessAttempt
from millrace.server.registry_schema import TABLES, migrate
from millrace.server.sql_registry import SqlRegistry

BEFORE_REVISIONS = """\
CREATE TABLE millrace_schema (version INTEGER NOT NULL);
CREATE TABLE millrace_jobs (
    id VARCHAR(32) NOT NULL, submission TEXT NOT NULL, status VARCHAR(16) NOT NULL,
    goal VARCHAR(8) NOT NULL, created BIGINT NOT NULL, ended BIGINT, error TEXT NOT NULL,
    PRIMARY KEY (id));
CREATE INDEX ix_millrace_jobs_created ON millrace_jobs (created);
CREATE TABLE millrace_attempts (
    job VARCHAR(32) NOT NULL, number INTEGER NOT NULL, pid INTEGER NOT NULL,
    started BIGINT NOT NULL, ended BIGINT, outcome TEXT NOT NULL,
    PRIMARY KEY (job, number));
CREATE TABLE millrace_triggers (
    id VARCHAR(32) NOT NULL, job VARCHAR(32) NOT NULL, kind VARCHAR(16) NOT NULL,
    created BIGINT NOT NULL, run_id VARCHAR(64) NOT NULL, message VARCHAR(32) NOT NULL,
    result TEXT, error TEXT, PRIMARY KEY (id));
INSERT INTO millrace_schema VALUES (1);
INSERT INTO millrace_jobs VALUES
    ('a', '{"program":"job.py"}', 'RUNNING', 'RUN', 7, NULL, '');
INSERT INTO millrace_attempts VALUES ('a', 0, 123, 8, NULL, '');
"""


@pytest.fixture
def engine(url: str, tmp_path) -> Engine:
    (tmp_path / "server").mkdir()
    return create_engine(url)


def differences(engine: Engine) -> list[object]:
    """Between the tables of the database and those that the program works with."""
    options = {"version_table": VERSION_TABLE, "compare_type": True}
    with engine.connect() as connection:
        return compare_metadata(MigrationContext.configure(connection, opts=options), TABLES)


def test_a_new_registry(engine: Engine) -> None:
    assert differences(engine)
    for _ in range(2):
        migrate(engine)
        assert differences(engine) == []


def test_a_registry_from_before_there_were_revisions(engine: Engine, url: str) -> None:
    with engine.begin() as connection:
        for statement in BEFORE_REVISIONS.split(";\n")[:-1]:
            connection.execute(text(statement))
    migrate(engine)
    assert differences(engine) == []
    assert not inspect(engine).has_table("millrace_schema")
    registry = SqlRegistry(url)
    assert registry.claim()
    (job,) = registry.jobs()
    assert (job.id, job.submission.program, job.status) == ("a", "job.py", JobStatus.RUNNING)
    assert registry.attempts("a") == [ProcessAttempt("a", 0, 123, 8)]
    registry.close()


def test_a_later_revision_is_left_alone(engine: Engine, url: str) -> None:
    migrate(engine)
    with engine.begin() as connection:
        connection.execute(text(f"UPDATE {VERSION_TABLE} SET version_num = '9999'"))
    with pytest.raises(StateError, match="revision 9999, .* run the newer Millrace, or name"):
        SqlRegistry(url)


def test_servers_that_are_started_at_the_same_time(engine: Engine, url: str) -> None:
    failures: list[BaseException] = []

    def open_registry() -> None:
        try:
            SqlRegistry(url).close()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=open_registry) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert differences(engine) == []
