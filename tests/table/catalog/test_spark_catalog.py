"""Tables and views of Spark are bounded tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from millrace.common.errors import JobDefinitionError
from millrace.table import EnvironmentSettings, TableEnvironment

pytestmark = pytest.mark.spark


@pytest.fixture
def warehouse(spark: Any) -> Iterator[Any]:
    spark.sql("CREATE DATABASE sales")
    spark.sql(
        "CREATE TABLE sales.orders USING parquet AS SELECT * FROM VALUES "
        "(1L, 'pen', 2.50BD, TIMESTAMP '2026-01-01 10:00:00'), "
        "(2L, 'ink', 7.00BD, TIMESTAMP '2026-01-01 11:00:00') AS t(id, item, price, ts)"
    )
    spark.range(3).createOrReplaceTempView("few")
    yield spark
    spark.sql("DROP DATABASE sales CASCADE")
    spark.catalog.dropTempView("few")


def rows(t_env: TableEnvironment, query: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in t_env.execute_sql(query).collect())


@pytest.mark.parametrize("streaming", [False, True], ids=["batch", "streaming"])
def test_names_of_spark(warehouse: Any, streaming: bool) -> None:
    settings = EnvironmentSettings.in_batch_mode()
    if streaming:
        settings = EnvironmentSettings.in_streaming_mode()
    t_env = TableEnvironment.create(settings)
    found = rows(t_env, "SELECT item, price FROM spark_catalog.sales.orders WHERE id > 1")
    assert [(item, str(price)) for item, price in found] == [("ink", "7.00")]
    t_env.execute_sql("CREATE CATALOG warm WITH ('type' = 'spark', 'default-database' = 'sales')")
    t_env.execute_sql("USE CATALOG warm")
    assert ("orders",) in rows(t_env, "SHOW TABLES")
    assert [row[:2] for row in rows(t_env, "DESCRIBE orders")] == [
        ("id", "BIGINT"),
        ("item", "STRING"),
        ("price", "DECIMAL(3, 2)"),
        ("ts", "TIMESTAMP_LTZ(6)"),
    ]
    assert rows(t_env, "SELECT SUM(id) FROM few")[-1] == (3,)


def test_what_is_refused(warehouse: Any) -> None:
    t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    for text, reason in {
        "SELECT * FROM spark_catalog.sales.ordres": "line 1, column 15",
        "INSERT INTO spark_catalog.sales.orders SELECT * FROM spark_catalog.sales.orders": (
            "cannot be written"
        ),
        "DROP TABLE spark_catalog.sales.orders": "cannot be changed by this program",
        "USE spark_catalog.sale": "did you mean 'sales'",
    }.items():
        with pytest.raises(JobDefinitionError) as raised:
            t_env.execute_sql(text)
        assert reason in str(raised.value)
