"""Columns written to Parquet: as their records would be, without becoming records."""

from __future__ import annotations

import io
from datetime import date, datetime
from decimal import Decimal
from itertools import product
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from millrace.common.errors import SerializationError
from millrace.common.types.batch import ColumnBatch, RowBatch
from millrace.common.types.typeinfo import Types
from millrace.formats import ParquetBulkWriters
from millrace.formats.parquet_columns import column_as, file_schema

COLUMNS: list[pa.Array] = [
    pa.array([1, None, 100], pa.int8()),
    pa.array([1, None, 2**40], pa.int64()),
    pa.array([2**53 + 1], pa.int64()),
    pa.array([2**63], pa.uint64()),
    pa.array([0.5, None], pa.float64()),
    pa.array([2.0, None], pa.float64()),
    pa.array([2.0], pa.float32()),
    pa.array([True, None], pa.bool_()),
    pa.array(["é", None, "12"]),
    pa.array(["a", None, "a"]).dictionary_encode(),
    pa.array(["a"], pa.string_view()),
    pa.array([b"\xff", None]),
    pa.array([Decimal("1.50"), None]),
    pa.array([date(2013, 1, 2), None]),
    pa.array([datetime(2013, 1, 2, 3, 4, 5, 6), None], pa.timestamp("us")),
    pa.array([datetime(2013, 1, 2, 3, 4, 5), None], pa.timestamp("s")),
    pa.array([[1, None], None]),
    pa.array([{"x": 1}, None]),
    pa.array([None, None]),
]
DECLARED: list[pa.DataType] = [
    pa.int8(),
    pa.int64(),
    pa.float64(),
    pa.bool_(),
    pa.string(),
    pa.large_string(),
    pa.binary(),
    pa.decimal128(10, 1),
    pa.decimal128(10, 3),
    pa.date32(),
    pa.timestamp("us"),
    pa.timestamp("us", "UTC"),
    pa.list_(pa.int64()),
    pa.list_(pa.int32()),
    pa.struct([("x", pa.int64())]),
]


def written(factory: Any, *batches: ColumnBatch | RowBatch[Any]) -> pa.Table:
    stream = io.BytesIO()
    writer = factory.create(stream)
    for batch in batches:
        if isinstance(batch, ColumnBatch):
            writer.add_columns(batch)
        else:
            writer.add_elements(batch.values)
    writer.finish()
    return pq.read_table(io.BytesIO(stream.getvalue()))


def outcome(factory: Any, batch: ColumnBatch | RowBatch[Any]) -> Any:
    try:
        table = written(factory, batch)
    except SerializationError:
        return "refused"
    return table.schema, table.to_pylist()


@pytest.mark.parametrize(
    ("column", "declared"),
    list(product(COLUMNS, DECLARED)),
    ids=lambda v: str(getattr(v, "type", v)),
)
def test_declared_types_take_from_columns_what_they_take_from_records(
    column: pa.Array, declared: pa.DataType
) -> None:
    factory = ParquetBulkWriters.for_arrow_schema(pa.schema([("a", declared)]))
    batch = ColumnBatch(pa.record_batch({"a": column}))
    assert outcome(factory, batch) == outcome(factory, batch.to_rows())


@pytest.mark.parametrize("column", COLUMNS, ids=lambda column: str(column.type))
@pytest.mark.parametrize("form", ["dict", "row"])
def test_columns_taken_from_the_stream_keep_their_values(column: pa.Array, form: str) -> None:
    batch = ColumnBatch(pa.record_batch({"a": column, "b": column}), form=form)
    table = written(ParquetBulkWriters.for_row_type(), batch)
    assert table.to_pylist() == batch.data.to_pylist()


def test_nothing_is_copied_or_looked_at_where_the_types_are_those_declared() -> None:
    column = pa.array([1, 2])
    assert column_as(column, pa.int64()) is column


@pytest.mark.parametrize("form", ["tuple", "value"])
def test_records_without_names_need_declared_columns(form: str) -> None:
    batch = ColumnBatch(pa.record_batch({"a": [1]}), form=form)
    with pytest.raises(SerializationError, match="no field names"):
        written(ParquetBulkWriters.for_row_type(), batch)


def test_columns_are_found_by_name_or_by_position() -> None:
    row_type = Types.ROW_NAMED(["a", "b", "c"], [Types.INT(), Types.STRING(), Types.LONG()])
    factory = ParquetBulkWriters.for_row_type(row_type)
    named = ColumnBatch(pa.record_batch({"b": ["x"], "a": [1]}))
    ordered = ColumnBatch(pa.record_batch({"f0": [2], "f1": ["y"], "f2": [3]}), form="tuple")
    assert written(factory, named, ordered).to_pylist() == [
        {"a": 1, "b": "x", "c": None},
        {"a": 2, "b": "y", "c": 3},
    ]
    for other in (
        ColumnBatch(pa.record_batch({"a": [1], "d": [1]})),
        ColumnBatch(pa.record_batch({"a": [1]}), form="tuple"),
    ):
        with pytest.raises(SerializationError, match="column"):
            written(factory, other)


def test_rows_and_columns_stay_in_their_order() -> None:
    factory = ParquetBulkWriters.for_row_type(Types.ROW_NAMED(["a"], [Types.LONG()]))
    columns = ColumnBatch(pa.record_batch({"a": [2, 3]}))
    table = written(factory, RowBatch([(1,)]), columns, columns, RowBatch([(4,)]))
    assert table["a"].to_pylist() == [1, 2, 3, 2, 3, 4]


def test_small_batches_share_row_groups() -> None:
    stream = io.BytesIO()
    writer = ParquetBulkWriters.for_row_type().create(stream)  # type: ignore[arg-type]
    batch = ColumnBatch(pa.record_batch({"a": range(50_000)}))
    for _ in range(4):
        writer.add_columns(batch)
    writer.finish()
    metadata = pq.read_metadata(io.BytesIO(stream.getvalue()))
    assert [metadata.row_group(i).num_rows for i in range(2)] == [150_000, 50_000]


def test_metadata_of_a_stream_does_not_get_into_files() -> None:
    schema = pa.schema([("a", pa.string_view())], {b"pandas": b"{}"})
    assert file_schema(schema).equals(pa.schema([("a", pa.string())]), check_metadata=True)
