"""Readers of Spark as tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from millrace.common.errors import JobDefinitionError
from millrace.table import EnvironmentSettings, TableEnvironment

pytestmark = pytest.mark.spark


def rows(t_env: TableEnvironment, query: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in t_env.execute_sql(query).collect())


def test_readers_of_spark(spark: Any, tmp_path: Path) -> None:
    t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    (tmp_path / "a.csv").write_text("id;name\n1;a\n2;b\n")
    t_env.execute_sql(
        "CREATE TABLE words (id BIGINT, name STRING) WITH ('connector' = 'spark', "
        f"'spark.format' = 'csv', 'spark.option.path' = '{tmp_path}', "
        "'spark.option.header' = 'true', 'spark.option.sep' = ';')"
    )
    assert rows(t_env, "SELECT name, id FROM words WHERE id > 1") == [("b", 2)]
    copied = "SELECT * FROM words /*+ OPTIONS('spark.repeatable' = 'false') */"
    assert rows(t_env, copied) == [(1, "a"), (2, "b")]
    t_env.execute_sql(
        "CREATE TABLE wrong (id BIGINT) WITH ('connector' = 'spark', 'spark.format' = 'nothing')"
    )
    with pytest.raises(JobDefinitionError, match="Spark cannot read 'spark.format' = 'nothing'"):
        t_env.execute_sql("SELECT * FROM wrong")


@pytest.mark.connectors
def test_streams_of_spark(spark: Any) -> None:
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.execute_sql(
        "CREATE TABLE ticks (`value` BIGINT, `timestamp` TIMESTAMP_LTZ(3)) WITH ("
        "'connector' = 'spark', 'spark.format' = 'rate', 'spark.streaming' = 'true', "
        "'spark.option.rowsPerSecond' = '50')"
    )
    found = []
    with t_env.execute_sql("SELECT `value` FROM ticks WHERE MOD(`value`, 2) = 0").collect() as got:
        for row in got:
            found.append(row[0])
            if len(found) == 5:
                break
    assert sorted(found) == [0, 2, 4, 6, 8]
