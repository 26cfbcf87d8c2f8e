"""ANALYZE TABLE counts rows and values, and the catalog keeps what it found."""

from __future__ import annotations

from pathlib import Path

import pytest

from millrace.common.errors import JobDefinitionError
from millrace.table import TableEnvironment
from millrace.table.catalog import (
    CatalogColumnStatisticsData,
    CatalogTable,
    CatalogTableStatistics,
    FileCatalog,
    ObjectPath,
)


def declare(t_env: TableEnvironment, path: Path) -> None:
    t_env.execute_sql(f"CREATE CATALOG c WITH ('type' = 'file', 'path' = '{path}')")
    t_env.execute_sql("USE CATALOG c")
    t_env.execute_sql(
        "CREATE TABLE t (n BIGINT, name STRING, tags ARRAY<STRING>, shop STRING, y INT, twice AS n "
        f"* 2) PARTITIONED BY (shop, y) WITH ('connector' = 'filesystem', 'path' = '{path}/t', "
        "'format' = 'json')"
    )
    t_env.execute_sql(
        "INSERT INTO t VALUES (1, 'abc', ARRAY['x'], 'a', 1), (1, 'a', ARRAY['x'], 'a', 2), "
        "(-7, CAST(NULL AS STRING), CAST(NULL AS ARRAY<STRING>), 'b', 1)"
    ).wait()


def test_rows_and_values_are_counted_and_kept(batch_env: TableEnvironment, tmp_path: Path) -> None:
    declare(batch_env, tmp_path)
    batch_env.execute_sql("ANALYZE TABLE t COMPUTE STATISTICS FOR ALL COLUMNS")
    batch_env.execute_sql("ANALYZE TABLE t PARTITION (shop, y = 1) COMPUTE STATISTICS")
    batch_env.execute_sql(
        "ANALYZE TABLE t PARTITION (y = '2', shop = 'a') COMPUTE STATISTICS FOR COLUMNS n"
    )
    again = FileCatalog("again", str(tmp_path)).table(ObjectPath("default", "t"))
    assert isinstance(again, CatalogTable)
    found = dict(again.statistics)
    everything = found.pop("")
    assert found == {
        "shop=a/y=1": CatalogTableStatistics(1),
        "shop=b/y=1": CatalogTableStatistics(1),
        "shop=a/y=2": CatalogTableStatistics(1, {"n": CatalogColumnStatisticsData(0, 1, "1", "1")}),
    }
    assert everything == CatalogTableStatistics(
        3,
        {
            "n": CatalogColumnStatisticsData(0, 2, "-7", "1"),
            "name": CatalogColumnStatisticsData(1, 2, None, None, 2.0, 3),
            "tags": CatalogColumnStatisticsData(1),
            "shop": CatalogColumnStatisticsData(0, 2, None, None, 1.0, 1),
            "y": CatalogColumnStatisticsData(0, 2, "1", "2"),
        },
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("t COMPUTE STATISTICS FOR COLUMNS nam", "did you mean 'name'"),
        ("t COMPUTE STATISTICS FOR COLUMNS twice", "no physical column twice"),
        ("t PARTITION (n = 1) COMPUTE STATISTICS", "no partition column n"),
        ("t PARTITION (y = 1) COMPUTE STATISTICS", "shop is missing"),
        ("tt COMPUTE STATISTICS", "did you mean 't'"),
    ],
)
def test_what_is_refused(
    batch_env: TableEnvironment, tmp_path: Path, text: str, reason: str
) -> None:
    declare(batch_env, tmp_path)
    with pytest.raises(JobDefinitionError) as raised:
        batch_env.execute_sql(f"ANALYZE TABLE {text}")
    assert reason in str(raised.value)


def test_streams_are_not_analyzed(t_env: TableEnvironment, tmp_path: Path) -> None:
    declare(t_env, tmp_path)
    with pytest.raises(JobDefinitionError, match="needs batch mode"):
        t_env.execute_sql("ANALYZE TABLE t COMPUTE STATISTICS")
