"""Partitions in the layout of Hive and Spark, which the usual readers find again."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pytest
from pyarrow import dataset

from millrace.common import Row, Types
from millrace.common.errors import JobDefinitionError, SerializationError
from millrace.common.types.batch import ColumnBatch, RowBatch
from millrace.connectors import BucketAssigner, BucketContext, FileSink
from millrace.datastream import StreamExecutionEnvironment
from millrace.formats import ParquetBulkWriters
from millrace.testing import run_local

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
