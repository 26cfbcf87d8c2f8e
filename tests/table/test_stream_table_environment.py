"""Tables become streams of the same job."""

from __future__ import annotations

import pytest

from millrace.common.errors import JobDefinitionError
from millrace.common.types.row import Row, RowKind
from millrace.datastream import StreamExecutionEnvironment
from millrace.table import StreamTableEnvironment
from millrace.testing import run_local


def test_a_query_goes_on_as_a_stream_with_another() -> None:
    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment()
        t_env = StreamTableEnvironment.create(env)
        t_env.create_temporary_view("t", t_env.from_elements([(1, "a"), (2, "b")], ["id", "s"]))
        stream = t_env.to_data_stream(t_env.sql_query("SELECT id * 10 AS n, s FROM t"))
        both = stream.map(lambda row: (row.n, row.s)).union(env.from_collection([(0, "z")]))
        assert sorted(both.execute_and_collect()) == [(0, "z"), (10, "a"), (20, "b")]


def test_a_changelog_has_its_kinds_and_is_no_stream_of_inserts() -> None:
    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment()
        t_env = StreamTableEnvironment.create(env)
        table = t_env.from_elements([Row(1), Row.of_kind(RowKind.DELETE, 1)], ["id"])
        rows = list(t_env.to_changelog_stream(table).execute_and_collect())
        assert [row.get_row_kind() for row in rows] == [RowKind.INSERT, RowKind.DELETE]
        with pytest.raises(JobDefinitionError, match="to_changelog_stream"):
            t_env.to_data_stream(table)
