"""Frames of other libraries become tables and tables frames, with all types."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from importlib import import_module
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from millrace.common.errors import JobDefinitionError
from millrace.common.types.row import Row, RowKind
from millrace.table import DataTypes, EnvironmentSettings, TableEnvironment
from millrace.table.expressions import col
from millrace.testing import run_local

pd: Any = import_module("pandas")
LARGE = 2**60 + 1
MORNING = datetime(2024, 5, 1, 8, 30, 0, 125000)


@pytest.fixture
def batch_env() -> Iterator[TableEnvironment]:
    with run_local(epoch_records=2):
        yield TableEnvironment.create(EnvironmentSettings.in_batch_mode())


def every_type() -> pa.Table:
    item = pa.struct([("name", pa.string()), ("n", pa.int32())])
    return pa.table(
        {
            "id": pa.array([LARGE, None, 3], pa.int64()),
            "price": pa.array([Decimal("1.50"), None, Decimal("-0.25")], pa.decimal128(10, 2)),
            "at": pa.array([MORNING, None, MORNING], pa.timestamp("us")),
            "when": pa.array([MORNING.replace(tzinfo=UTC)] * 3, pa.timestamp("us", "UTC")),
            "day": pa.array([date(2024, 5, 1), None, None], pa.date32()),
            "tags": pa.array([["a", None], [], None], pa.list_(pa.string())),
            "item": pa.array([{"name": "x", "n": 1}, None, {"name": None, "n": None}], item),
            "counts": pa.array([[("k", 1)], [], None], pa.map_(pa.string(), pa.int64())),
            "raw": pa.array([b"\x00", None, b""], pa.binary()),
            "ok": pa.array([True, None, False]),
        }
    )


def test_arrow_goes_through_a_query_unchanged(batch_env: TableEnvironment) -> None:
    given = every_type()
    found = batch_env.from_arrow(given).select(col("*")).to_arrow()
    assert found.to_pylist() == given.to_pylist()
    assert found.schema.types == given.schema.types


def test_chunks_views_and_dictionaries(batch_env: TableEnvironment) -> None:
    parts = [pa.array(["a", "b"]).dictionary_encode(), pa.array(["a"]).dictionary_encode()]
    chunks = pa.chunked_array(parts)
    given = pa.table({"s": chunks, "u": pa.array([1, 2, 3], pa.uint32())})
    table = batch_env.from_arrow(given, splits_num=2)
    assert str(table.get_schema()) == "root\n |-- s: STRING\n |-- u: BIGINT\n"
    assert sorted(table.to_arrow().column("s").to_pylist()) == ["a", "a", "b"]
    reader = pa.RecordBatchReader.from_batches(given.schema, given.to_batches())
    assert batch_env.from_arrow(reader).to_arrow().num_rows == 3
    assert batch_env.from_arrow(given.schema.empty_table(), ["a", "b"]).to_pandas().empty


def test_polars_there_and_back(batch_env: TableEnvironment) -> None:
    frame = pl.DataFrame(
        {
            "id": [1, None, LARGE],
            "price": [Decimal("1.50"), None, Decimal("2.00")],
            "when": [MORNING.replace(tzinfo=UTC)] * 3,
            "tags": [["a"], [], None],
            "colour": pl.Series(["red", "blue", "red"], dtype=pl.Categorical),
        }
    )
    found = batch_env.from_polars(frame.lazy().filter(pl.col("id") > 1)).to_polars()
    assert found.rows() == frame.filter(pl.col("id") > 1).rows()
    assert batch_env.from_polars(frame).where(col("colour") == "red").to_polars().height == 2
    with pytest.raises(JobDefinitionError, match=r"from_polars\(\) takes a DataFrame"):
        batch_env.from_polars([1])


def test_pandas_there_and_back(batch_env: TableEnvironment) -> None:
    frame = pd.DataFrame(
        {
            "id": pd.array([LARGE, None], "Int64"),
            "price": [Decimal("1.50"), None],
            "when": pd.to_datetime([MORNING, None], utc=True).tz_convert("Europe/Berlin"),
            "tags": [["a"], []],
            "kind": pd.Categorical(["x", None]),
        }
    )
    found: Any = batch_env.from_pandas(frame).to_pandas()
    assert found["id"].dtype == "Int64"
    assert found["id"].tolist() == [LARGE, pd.NA]
    assert found["price"].tolist() == [Decimal("1.50"), None]
    assert found["when"][0] == frame["when"][0]
    assert found["when"].isna().tolist() == [False, True]
    assert [list(tags) for tags in found["tags"]] == [["a"], []]
    assert found["kind"].tolist() == ["x", None]
    whole: Any = batch_env.from_pandas(pd.DataFrame({"n": [1, 2]})).to_pandas()
    assert whole["n"].dtype == np.int64
    mixed = pd.DataFrame({"x": [1, "a"]})
    with pytest.raises(JobDefinitionError, match="of no one type"):
        batch_env.from_pandas(mixed)


def test_maps_and_rows_are_dicts_in_pandas(batch_env: TableEnvironment) -> None:
    found: Any = batch_env.from_arrow(every_type()).select(col("item"), col("counts")).to_pandas()
    assert found["item"][0] == {"name": "x", "n": 1}
    assert found["counts"].tolist() == [{"k": 1}, {}, None]


def test_only_the_final_rows_of_a_changelog(t_env: TableEnvironment) -> None:
    changes = [Row("a", 1), Row("b", 2), Row.of_kind(RowKind.UPDATE_BEFORE, "a", 1)]
    changes += [Row.of_kind(RowKind.UPDATE_AFTER, "a", 5), Row.of_kind(RowKind.DELETE, "b", 2)]
    table = t_env.from_elements(changes, ["k", "n"])
    assert table.to_arrow().to_pylist() == [{"k": "a", "n": 5}]
    assert table.to_polars().rows() == [("a", 5)]
    totals = t_env.from_arrow(pa.table({"k": ["x", "y", "x"], "n": [1, 2, 3]}), splits_num=3)
    summed = totals.group_by(col("k")).select(col("k"), col("n").sum.alias("n"))
    assert sorted(summed.to_arrow().to_pylist(), key=str) == [
        {"k": "x", "n": 4},
        {"k": "y", "n": 2},
    ]


def test_statements_give_frames_too(t_env: TableEnvironment) -> None:
    t_env.execute_sql("CREATE TABLE p (id BIGINT) WITH ('connector' = 'print')")
    found: Any = t_env.execute_sql("SHOW TABLES").to_pandas()
    assert found.to_dict("list") == {"table name": ["p"]}


def test_a_schema_names_and_casts(batch_env: TableEnvironment) -> None:
    row_type = DataTypes.ROW([DataTypes.FIELD("n", DataTypes.INT())])
    table = batch_env.from_arrow(pa.table({"n": pa.array([1], pa.int64())}), row_type)
    assert str(table.get_schema()) == "root\n |-- n: INT\n"
    with pytest.raises(JobDefinitionError, match="2 names were given for 1 columns"):
        batch_env.from_arrow(pa.table({"n": [1]}), ["a", "b"])
    with pytest.raises(JobDefinitionError, match="__arrow_c_stream__"):
        batch_env.from_arrow([1, 2])
