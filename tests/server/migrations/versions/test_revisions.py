"""Registries of every earlier version become what this one expects, and keep what they have."""

from __future__ import annotations

from sqlalchemy import Engine, inspect, text

from millrace.common.job import JobStatus
from millrace.server.registry import ProcessAttempt
from millrace.server.registry_schema import migrate
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


def test_a_registry_from_before_there_were_revisions(engine: Engine, differences, url: str) -> None:
    with engine.begin() as connection:
        for statement in BEFORE_REVISIONS.split(";\n")[:-1]:
            connection.execute(text(statement))
    migrate(engine)
    assert differences() == []
    assert not inspect(engine).has_table("millrace_schema")
    registry = SqlRegistry(url)
    assert registry.claim()
    (job,) = registry.jobs()
    assert (job.id, job.submission.program, job.status) == ("a", "job.py", JobStatus.RUNNING)
    assert registry.attempts("a") == [ProcessAttempt("a", 0, 123, 8)]
    registry.close()
