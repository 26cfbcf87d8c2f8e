"""SQL runs on Spark, with an exchange by key, and its changelog adds up."""

from __future__ import annotations

import pytest

from millrace.table import EnvironmentSettings, TableEnvironment
from millrace.table.table_result import materialized

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]


def test_groups_of_a_stream() -> None:
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.get_config().set("parallelism.default", "2")
    t_env.execute_sql(
        "CREATE TABLE n (i BIGINT) WITH ('connector' = 'datagen', 'fields.i.kind' = 'sequence', "
        "'fields.i.start' = '1', 'fields.i.end' = '1000')"
    )
    query = "SELECT MOD(i, 3) AS m, COUNT(*) AS c FROM n WHERE i > 100 GROUP BY MOD(i, 3)"
    rows = materialized(t_env.execute_sql(query).collect())
    assert sorted(tuple(row) for row in rows) == [(0, 300), (1, 300), (2, 300)]
