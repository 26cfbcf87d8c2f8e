"""Rows come in order of their keys, nulls where they are asked for."""

from __future__ import annotations

import itertools

import pyarrow as pa
import pytest

from millrace.expressions.resolved import SortKey
from millrace.table_runtime.sort_limit import sorted_rows

ROWS = [(1, "b"), (None, "a"), (2, None), (1, "a"), (2, "c"), (None, None)]


@pytest.mark.parametrize("up", list(itertools.product([True, False], repeat=2)))
@pytest.mark.parametrize("first", list(itertools.product([True, False], repeat=2)))
def test_order_of_two_keys(up: tuple[bool, bool], first: tuple[bool, bool]) -> None:
    data = pa.record_batch({"x": [row[0] for row in ROWS], "s": [row[1] for row in ROWS]})
    keys = tuple(SortKey(i, up[i], first[i]) for i in range(2))
    expected: list[tuple[int | None, str | None]] = list(ROWS)
    for key in reversed(keys):
        present = [row for row in expected if row[key.index] is not None]
        missing = [row for row in expected if row[key.index] is None]
        present.sort(key=lambda row, i=key.index: row[i], reverse=not key.ascending)  # type: ignore[misc]
        expected = missing + present if key.nulls_first else present + missing
    made = sorted_rows(data, keys)
    assert [(row["x"], row["s"]) for row in made.to_pylist()] == expected
