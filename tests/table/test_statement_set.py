"""Several inserts are one job, or a part of the job of streams."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from millrace.common.errors import JobDefinitionError
from millrace.datastream import StreamExecutionEnvironment
from millrace.table import StreamTableEnvironment
from millrace.testing import run_local


@pytest.fixture
def env() -> Iterator[StreamExecutionEnvironment]:
    with run_local():
        yield StreamExecutionEnvironment.get_execution_environment()


def target(t_env: StreamTableEnvironment, path: Path) -> str:
    t_env.execute_sql(
        f"CREATE TABLE {path.name} (id BIGINT) WITH ('connector' = 'filesystem', "
        f"'path' = '{path}', 'format' = 'csv')"
    )
    return path.name


def lines(path: Path) -> list[str]:
    parts = (part for part in path.iterdir() if not part.name.startswith((".", "_")))
    return sorted(line for part in parts for line in part.read_text().splitlines())


def test_pipelines_run_together(
    env: StreamExecutionEnvironment, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    t_env = StreamTableEnvironment.create(env)
    table = t_env.from_elements([(1,), (2,)], ["id"])
    statements = t_env.create_statement_set()
    for name in ("a", "b"):
        pipeline = table.insert_into(target(t_env, tmp_path / name))
        sink = pipeline.get_sink_identifier()
        assert sink is not None
        assert sink.get_object_name() == name
        statements.add(pipeline)
    statements.print_explain()
    assert "== Optimized Execution Plan ==" in capsys.readouterr().out
    statements.execute().wait()
    assert lines(tmp_path / "a") == lines(tmp_path / "b") == ["1", "2"]


def test_inserts_are_a_part_of_the_job_of_streams(
    env: StreamExecutionEnvironment, tmp_path: Path
) -> None:
    t_env = StreamTableEnvironment.create(env)
    statements = t_env.create_statement_set()
    statements.add_insert(target(t_env, tmp_path / "a"), t_env.from_elements([(1,)], ["id"]))
    statements.attach_as_datastream()
    with pytest.raises(JobDefinitionError, match="no INSERT"):
        statements.attach_as_datastream()
    assert list(env.from_collection([7]).execute_and_collect()) == [7]
    assert lines(tmp_path / "a") == ["1"]
