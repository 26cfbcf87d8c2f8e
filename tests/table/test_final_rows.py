"""What a changelog leaves, as columns: the same as row by row."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from millrace.common.types.logical.logical_type import RowType
from millrace.common.types.logical.parser import parse_type
from millrace.common.types.row import RowKind, named_row
from millrace.table.final_rows import final_rows
from millrace.table.table_result import materialized
from millrace.table_runtime.columns import schema_of

VALUES = st.tuples(
    st.sampled_from([None, 1, 2]),
    st.sampled_from([None, float("nan"), 0.5]),
    st.sampled_from([None, [], [1, None]]),
)


def type_of_rows() -> RowType:
    found = parse_type("ROW<a INT, b DOUBLE, c ARRAY<INT>>")
    assert isinstance(found, RowType)
    return found


def batch_of(rows: list[tuple[Any, ...]], row_type: RowType) -> pa.RecordBatch:
    columns = [[row[place] for row in rows] for place in range(len(row_type))]
    arrays = [
        pa.array(column, field.type)
        for column, field in zip(columns, schema_of(row_type), strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, [str(place) for place in range(len(row_type))])


@given(st.lists(st.lists(st.tuples(VALUES, st.integers(0, 3)), max_size=12), max_size=3))
def test_it_leaves_what_row_by_row_leaves(batches: list[list[Any]]) -> None:
    """Also of deletions of rows that were never there, which count for nothing."""
    row_type = type_of_rows()
    changes, rows = [], []
    for batch in batches:
        values, kinds = [row for row, _ in batch], [kind for _, kind in batch]
        changes.append((batch_of(values, row_type), pa.array(kinds, pa.int8())))
        rows += [named_row(row_type.names, row, kind) for row, kind in batch]
    left = [tuple(row) for row in materialized(iter(rows))]
    found = [tuple(row.values()) for row in final_rows(changes, row_type).to_pylist()]
    assert repr(found) == repr(left)
    assert all(isinstance(row.get_row_kind(), RowKind) for row in rows)


def test_nothing_has_columns_all_the_same() -> None:
    table = final_rows([], type_of_rows())
    assert table.num_rows == 0
    assert table.schema.names == ["a", "b", "c"]
