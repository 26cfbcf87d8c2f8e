"""What a changelog leaves, as it comes: kept up to date without looking at every row."""

from __future__ import annotations

from typing import Any

import pytest

from millrace.common import Row, RowKind
from millrace.table import materialized_rows
from millrace.table.materialized_rows import MaterializedRows


def texts(rows: MaterializedRows) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in rows]


def test_an_update_is_compared_with_the_row_it_replaces_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compared = []

    def alike(old: Any, new: Any) -> bool:
        compared.append(old)
        return bool(old == new)

    monkeypatch.setattr(materialized_rows, "alike", alike)
    rows = MaterializedRows()
    for key in range(500):
        rows.add(Row(key, 0))
    for key in range(500):
        rows.add(Row.of_kind(RowKind.UPDATE_BEFORE, key, 0))
        rows.add(Row.of_kind(RowKind.UPDATE_AFTER, key, 1))
    assert len(compared) == 500
    assert texts(rows) == [(key, 1) for key in range(500)]
    assert [tuple(row) for row in rows.last(2)] == [(498, 1), (499, 1)]


def test_equal_rows_and_values_of_other_texts() -> None:
    rows = MaterializedRows()
    for value in (1, 2, 1, True, float("nan"), {"a": 1, "b": 2}):
        rows.add(Row(value))
    for gone in (1, float("nan"), {"b": 2, "a": 1}, 7):
        rows.add(Row.of_kind(RowKind.DELETE, gone))
    assert texts(rows) == [(1,), (2,), (True,)]
    assert len(rows) == 3


def test_the_oldest_rows_are_counted_only() -> None:
    rows = MaterializedRows(most=3)
    for n in range(10):
        rows.add(Row(n % 2, n))
    assert (len(rows), rows.let_go) == (10, 7)
    assert texts(rows) == [(1, 7), (0, 8), (1, 9)]
    rows.add(Row.of_kind(RowKind.DELETE, 0, 2))  # of those that are not here
    rows.add(Row.of_kind(RowKind.DELETE, 0, 8))
    assert (len(rows), texts(rows)) == (8, [(1, 7), (1, 9)])
