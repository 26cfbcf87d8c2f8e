"""SHOW JOBS, DESCRIBE JOB and STOP JOB: the jobs of a session."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from millrace.common.errors import JobCancelledError, JobDefinitionError
from millrace.common.job import JobStatus
from millrace.table import EnvironmentSettings, TableEnvironment
from millrace.testing import run_local

TICKS = "CREATE TABLE ticks (n INT) WITH ('connector' = 'datagen', 'rows-per-second' = '10')"
NOWHERE = "CREATE TABLE nowhere (n INT) WITH ('connector' = 'blackhole')"


@pytest.fixture
def t_env(tmp_path: Path) -> Iterator[TableEnvironment]:
    with run_local(checkpoint_dir=str(tmp_path / "checkpoints")):
        t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
        t_env.get_config().set("pipeline.name", "ticking")
        for statement in (TICKS, NOWHERE):
            t_env.execute_sql(statement)
        yield t_env


def rows(t_env: TableEnvironment, statement: str) -> list[tuple[Any, ...]]:
    with t_env.execute_sql(statement).collect() as found:
        return [tuple(row) for row in found]


def started(t_env: TableEnvironment) -> str:
    """Id of a job without an end."""
    client = t_env.execute_sql("INSERT INTO nowhere SELECT n FROM ticks").get_job_client()
    assert client is not None
    while client.get_job_status().result() is not JobStatus.RUNNING:
        time.sleep(0.001)
    return str(client.get_job_id())


def test_jobs_are_listed_until_after_their_end(t_env: TableEnvironment) -> None:
    assert rows(t_env, "SHOW JOBS") == []
    id = started(t_env)
    [(listed, name, status, start)] = rows(t_env, "SHOW JOBS")
    assert (listed, name, status) == (id, "ticking", "RUNNING")
    datetime.fromisoformat(start)
    assert rows(t_env, f"DESCRIBE JOB '{id}'") == [(id, "ticking", "RUNNING", start)]
    assert rows(t_env, f"STOP JOB '{id}'") == [("OK",)]
    assert rows(t_env, "SHOW JOBS") == [(id, "ticking", "CANCELED", start)]


def test_a_job_ends_with_a_savepoint(t_env: TableEnvironment, tmp_path: Path) -> None:
    t_env.get_config().set("execution.checkpointing.savepoint-dir", str(tmp_path / "savepoints"))
    id = started(t_env)
    [(path,)] = rows(t_env, f"STOP JOB '{id}' WITH SAVEPOINT")
    assert Path(path).parent == tmp_path / "savepoints"
    assert [row[2] for row in rows(t_env, "SHOW JOBS")] == ["FINISHED"]


def test_jobs_of_one_name_are_listed_and_told_apart_by_nothing() -> None:
    with run_local():
        t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
        for statement in (TICKS, NOWHERE):
            t_env.execute_sql(statement)
        inserts = [t_env.execute_sql("INSERT INTO nowhere SELECT n FROM ticks") for _ in range(2)]
        clients = [insert.get_job_client() for insert in inserts]
        [id] = {str(client.get_job_id()) for client in clients if client is not None}
        assert [row[0] for row in rows(t_env, "SHOW JOBS")] == [id, id]
        with pytest.raises(JobDefinitionError, match="2 jobs with the id .* have one name"):
            t_env.execute_sql(f"STOP JOB '{id}'")
        for client in clients:
            assert client is not None
            client.cancel().result()
            with pytest.raises(JobCancelledError):
                client.get_job_execution_result().result()
        assert [row[2] for row in rows(t_env, "SHOW JOBS")] == ["CANCELED", "CANCELED"]


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("STOP JOB 'a'", "no job with the id 'a' runs in this session; SHOW JOBS lists"),
        ("STOP JOB 'a' WITH DRAIN", "WITH DRAIN requires WITH SAVEPOINT"),
        ("DESCRIBE JOB 'a'", "no job with the id 'a'; see SHOW JOBS"),
    ],
)
def test_unknown_jobs_are_refused(t_env: TableEnvironment, statement: str, reason: str) -> None:
    with pytest.raises(JobDefinitionError, match=re.escape(reason)):
        t_env.execute_sql(statement)
