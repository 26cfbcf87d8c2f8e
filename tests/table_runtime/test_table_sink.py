"""Rows of sinks of tables that are written by key."""

from __future__ import annotations

import pyarrow as pa

from millrace.common.types.batch import ColumnBatch
from millrace.common.types.row import RowKind
from millrace.table_runtime.table_sink import by_key

INSERT, UB, UA, D = (kind.value for kind in RowKind)


def changes(*rows: tuple[int, str | None, int]) -> ColumnBatch:
    kinds, keys, values = zip(*rows, strict=True)
    data = pa.record_batch({"k": pa.array(keys, pa.string()), "v": pa.array(values)})
    return ColumnBatch(data, None, pa.array(kinds, pa.int8()), "row")


def rows(batch: ColumnBatch) -> list[tuple[int, str | None, int]]:
    assert batch.row_kinds is not None
    columns = (column.to_pylist() for column in batch.data.columns)
    return list(zip(batch.row_kinds.to_pylist(), *columns, strict=True))


def test_a_row_before_an_update_is_left_out_if_its_key_is_written_again() -> None:
    batch = changes((UB, "a", 1), (UA, "a", 2), (UB, "b", 3), (INSERT, None, 4), (D, "b", 3))
    assert rows(by_key(batch, (0,))) == [(UA, "a", 2), (INSERT, None, 4), (D, "b", 3)]


def test_a_row_before_an_update_that_a_filter_left_out_is_deleted() -> None:
    batch = changes((UA, "a", 1), (UB, "a", 1), (UB, None, 3), (UA, "b", 5))
    assert rows(by_key(batch, (0,))) == [(UA, "a", 1), (D, "a", 1), (D, None, 3), (UA, "b", 5)]


def test_other_changes_stay_as_they_are() -> None:
    batch = changes((INSERT, "a", 1), (UA, "a", 2), (D, "a", 2))
    assert by_key(batch, (0,)) is batch
