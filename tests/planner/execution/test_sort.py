"""ORDER BY and LIMIT; a stream without LIMIT is refused in words."""

from __future__ import annotations

import pytest

from millrace.common.errors import JobDefinitionError
from millrace.table import EnvironmentSettings, TableEnvironment
from millrace.table.table_result import materialized
from millrace.testing import run_local

QUERY = "SELECT a FROM (VALUES (3), (1), (CAST(NULL AS INT)), (2)) AS t (a) ORDER BY a DESC LIMIT 2"


def test_the_first_rows_of_a_batch() -> None:
    with run_local(seed=1):
        t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
        t_env.get_config().set("parallelism.default", "2")
        assert [row[0] for row in t_env.execute_sql(QUERY).collect()] == [3, 2]


def test_the_first_rows_of_a_stream() -> None:
    with run_local(seed=1, epoch_records=1):
        t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
        rows = materialized(iter(t_env.execute_sql(QUERY).collect()))
        assert sorted(row[0] for row in rows) == [2, 3]


def test_a_stream_is_not_sorted_as_a_whole() -> None:
    with run_local():
        t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
        with pytest.raises(JobDefinitionError, match="or there is a LIMIT"):
            t_env.execute_sql(QUERY.removesuffix(" LIMIT 2"))
