"""Batches of any form become columns of exactly the declared types."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from millrace.common.errors import JobExecutionError
from millrace.common.types.batch import ColumnBatch, RowBatch
from millrace.common.types.logical.logical_type import RowType
from millrace.common.types.logical.parser import parse_type
from millrace.common.types.row import Row, RowKind
from millrace.table_runtime.columns import ColumnConversion, same_rows


def conversion(text: str) -> ColumnConversion:
    kind = parse_type(f"ROW<{text}>")
    assert isinstance(kind, RowType)
    return ColumnConversion(kind)


@pytest.mark.parametrize(
    "record", [{"n": "x", "i": 1}, Row(n="x", i=1), Row(1, "x"), (1, "x"), [1, "x"]], ids=repr
)
def test_records_by_name_or_by_position(record: Any) -> None:
    batch = conversion("i INT, n STRING")(RowBatch([record]))
    assert batch.data.to_pylist() == [{"i": 1, "n": "x"}]
    assert batch.data.schema.types == [pa.int32(), pa.string()]


def test_a_value_is_a_row_of_one_column() -> None:
    assert conversion("v BIGINT")(RowBatch([7, None])).data.column(0).to_pylist() == [7, None]


def test_kinds_of_rows_are_kept() -> None:
    rows = [Row(1), Row.of_kind(RowKind.DELETE, 1)]
    kinds = conversion("v INT")(RowBatch(rows)).row_kinds
    assert kinds is not None
    assert kinds.to_pylist() == [0, 3]


def test_rows_maps_and_lists_within_columns() -> None:
    convert = conversion("r ROW<a INT, m MAP<STRING, INT>>, l ARRAY<ROW<b INT>>")
    data = convert(RowBatch([(Row(1, {"k": 2}), [Row(3), {"b": 4}]), (None, None)])).data
    assert data.column(0).to_pylist() == [{"a": 1, "m": [("k", 2)]}, None]
    assert data.column(1).to_pylist() == [[{"b": 3}, {"b": 4}], None]


def test_columns_are_found_by_name_and_cast() -> None:
    given = pa.record_batch({"n": ["x"], "i": pa.array([1], pa.int64()), "more": [0]})
    data = conversion("i INT, n STRING")(ColumnBatch(given)).data
    assert data.schema.names == ["i", "n"]
    assert data.schema.types == [pa.int32(), pa.string()]


def test_columns_without_the_names_are_taken_by_position() -> None:
    given = pa.record_batch({"f0": [1], "f1": ["x"]})
    assert conversion("i BIGINT, n STRING")(ColumnBatch(given)).data.to_pylist() == [
        {"i": 1, "n": "x"}
    ]


def test_a_value_that_does_not_fit_is_shown_with_its_column() -> None:
    with pytest.raises(JobExecutionError, match=r"'x' does not fit .* 'i', which is of type INT"):
        conversion("i INT")(RowBatch([(1,), ("x",)]))


def test_a_column_that_does_not_fit_says_what_to_do() -> None:
    with pytest.raises(JobExecutionError, match="gives the column 'i' as string"):
        conversion("i INT")(ColumnBatch(pa.record_batch({"i": ["x"]})))


def test_missing_columns_are_named() -> None:
    with pytest.raises(JobExecutionError, match="declares j beside them"):
        conversion("i INT, j INT")(ColumnBatch(pa.record_batch({"i": [1]})))


def test_records_of_another_width_are_refused() -> None:
    with pytest.raises(JobExecutionError, match="has 1 fields, the table has 2 columns: i, j"):
        conversion("i INT, j INT")(RowBatch([(1,)]))


def test_nan_that_stays_nan_is_no_change() -> None:
    nan, fields = pa.array([float("nan"), 1.0, float("nan")]), pa.array([0, 1])
    assert same_rows([nan], [nan], fields, fields).tolist() == [True, True]
    assert same_rows([nan], [nan], fields, pa.array([1, 2])).tolist() == [False, False]
