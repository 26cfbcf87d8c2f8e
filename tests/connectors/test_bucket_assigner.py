"""Bucket assigners; partitions in the layout of Hive and Spark, which usual readers find again."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pytest
from pyarrow import dataset

from millrace.common import Row, Types
from millrace.common.errors import JobDefinitionError, SerializationError
from millrace.common.types.batch import ColumnBatch, RowBatch
from millrace.connectors import FileSink
from millrace.connectors.bucket_assigner import (
    BucketAssigner,
    BucketContext,
    CallableBucketAssigner,
    require_bucket_id,
)
from millrace.connectors.errors import ConnectorError
from millrace.datastream import StreamExecutionEnvironment
from millrace.formats import ParquetBulkWriters
from millrace.testing import run_local

NOON = int(datetime(2013, 1, 2, 12, 30, 45, tzinfo=UTC).timestamp() * 1000)


@pytest.mark.parametrize(
    ("arguments", "bucket"),
    [
        ((), "2013-01-02--12"),
        (("yyyy-MM-dd--HH", "America/New_York"), "2013-01-02--07"),
        (("%Y/%j",), "2013/002"),
        (("HHmmss",), "123045"),
    ],
)
def test_date_time_buckets(arguments: tuple[str, ...], bucket: str) -> None:
    assigner = BucketAssigner.date_time_bucket_assigner(*arguments)
    assert assigner.group(RowBatch(["x", "y"]), NOON) == {bucket: RowBatch(["x", "y"])}


def test_unknown_pattern_letters_and_zones_are_refused() -> None:
    with pytest.raises(JobDefinitionError, match="not 'E'"):
        BucketAssigner.date_time_bucket_assigner("EEE")
    with pytest.raises(JobDefinitionError, match="not a known time zone"):
        BucketAssigner.date_time_bucket_assigner(timezone_id="Mars/Olympus")


def test_the_base_path_takes_the_batch_as_it_is() -> None:
    batch = RowBatch([1, 2])
    assert BucketAssigner.base_path_bucket_assigner().group(batch, 0)[""] is batch


def test_a_function_sees_value_and_times_and_keeps_the_order() -> None:
    def bucket(value: str, context: BucketContext) -> str:
        return f"{value[0]}-{context.timestamp()}-{context.current_processing_time()}"

    groups = CallableBucketAssigner(bucket).group(RowBatch(["a1", "b1", "a2"], [5, 6, 5]), 9)
    assert groups == {"a-5-9": RowBatch(["a1", "a2"]), "b-6-9": RowBatch(["b1"])}


@pytest.mark.parametrize("bucket", ["/abs", "../up", "a/../b", ".hidden", "a/_b", "a//b", "a/", 7])
def test_buckets_that_readers_would_not_find_are_refused(bucket: object) -> None:
    with pytest.raises(ConnectorError, match="cannot be a bucket"):
        require_bucket_id(bucket)


@pytest.mark.parametrize("bucket", ["", "a", "day=1/hour=2"])
def test_good_buckets(bucket: str) -> None:
    assert require_bucket_id(bucket) == bucket


NOW = BucketContext(0)


@dataclass
class Sale:
    day: date
    shop: str | None
    n: int


class Tuple(NamedTuple):
    day: date
    shop: str | None
    n: int


DAY = date(2026, 3, 1)


@pytest.mark.parametrize(
    ("record", "left"),
    [
        ({"day": DAY, "shop": "a", "n": 1}, {"n": 1}),
        (Row(day=DAY, shop="a", n=1), Row(n=1)),
        (Sale(DAY, "a", 1), {"n": 1}),
        (Tuple(DAY, "a", 1), {"n": 1}),
    ],
)
def test_partition_columns_leave_the_record(record: Any, left: Any) -> None:
    assigner = BucketAssigner.partition_by("day", "shop")
    [(bucket, batch)] = assigner.group(RowBatch([record]), 0).items()
    assert bucket == assigner.get_bucket_id(record, NOW) == "day=2026-03-01/shop=a"
    assert batch.to_rows().values == [left]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "__HIVE_DEFAULT_PARTITION__"),
        ("", "__HIVE_DEFAULT_PARTITION__"),
        ("a/../b=c", "a%2F..%2Fb%3Dc"),
        ("100% é\n", "100%25 é%0A"),
        (True, "true"),
        (7, "7"),
    ],
)
def test_values_become_names(value: Any, text: str) -> None:
    assert BucketAssigner.partition_by("v").get_bucket_id({"v": value}, NOW) == f"v={text}"


def test_what_cannot_be_partitioned_is_refused() -> None:
    with pytest.raises(JobDefinitionError, match="takes names of columns"):
        BucketAssigner.partition_by()
    with pytest.raises(SerializationError, match="has no field 'day'"):
        BucketAssigner.partition_by("day").get_bucket_id({"n": 1}, NOW)
    with pytest.raises(SerializationError, match="needs records with named fields"):
        BucketAssigner.partition_by("day").get_bucket_id(("2026", 1), NOW)


def test_other_readers_find_the_columns(tmp_path: Path) -> None:
    sales = [{"day": "2026-03-01", "shop": "a/b", "n": 1}, {"day": "2026-03-02", "shop": None}]
    row_type = Types.ROW_NAMED(["n"], [Types.LONG()])
    sink = FileSink.for_bulk_format(tmp_path, ParquetBulkWriters.for_row_type(row_type))
    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment()
        built = sink.with_bucket_assigner(BucketAssigner.partition_by("day", "shop")).build()
        env.from_collection(sales).sink_to(built)
        env.execute("sales")
    rows = dataset.dataset(tmp_path, partitioning="hive").to_table().to_pylist()
    assert sorted(rows, key=lambda row: str(row["day"])) == [
        {"n": 1, "day": "2026-03-01", "shop": "a/b"},
        {"n": None, "day": "2026-03-02", "shop": None},
    ]


def test_columns_go_where_their_rows_go() -> None:
    rows = [
        Row(day=day, n=n, shop=shop)
        for n, (day, shop) in enumerate(product([DAY, None], ["a/b", None, "", "c"]))
    ] * 2
    data = pa.RecordBatch.from_pylist([row.as_dict() for row in rows])
    assigner = BucketAssigner.partition_by("day", "shop")
    by_row = assigner.group(RowBatch(rows), 0)
    by_column = assigner.group(ColumnBatch(data, form="row"), 0)
    assert by_column.keys() == by_row.keys()
    for bucket, found in by_column.items():
        expected = sorted(row.as_dict()["n"] for row in by_row[bucket].to_rows().values)
        assert sorted(row.as_dict()["n"] for row in found.to_rows().values) == expected
    with pytest.raises(SerializationError, match="have no 'hour'"):
        BucketAssigner.partition_by("hour").group(ColumnBatch(data), 0)
