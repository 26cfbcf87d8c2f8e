"""Rows reach the partition that a column names, with and without Spark's own method for it."""

from __future__ import annotations

from typing import Any

import pytest

from millrace.spark import partition_ids
from millrace.spark.partition_ids import by_hash, by_partition_id

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("divide", [by_partition_id, by_hash])
@pytest.mark.parametrize("partitions", [1, 7])
def test_rows_are_where_the_column_says(
    divide: Any, partitions: int, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pyspark.sql import functions as sf

    monkeypatch.setattr(partition_ids, "_DRAWN", 2)  # so few that it draws more than once
    partition_ids._seeds_by_count.clear()
    frame = spark.range(40).select((sf.col("id") % partitions).cast("int").alias("target"))
    divided = divide(frame, partitions, "target")
    assert divided.rdd.getNumPartitions() == partitions
    rows = divided.select("target", sf.spark_partition_id().alias("at")).collect()
    assert len(rows) == 40
    assert all(row["target"] == row["at"] for row in rows)
