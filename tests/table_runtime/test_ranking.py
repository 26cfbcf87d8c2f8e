"""Rows among changes: which of them take back what is not there."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from millrace.table_runtime.ranking import without_row

VALUES = st.none() | st.integers(0, 2)


@given(held=st.lists(VALUES, max_size=6), changes=st.lists(st.tuples(VALUES, st.booleans())))
def test_rows_that_are_not_there_when_they_are_taken_back(
    held: list[int | None], changes: list[tuple[int | None, bool]]
) -> None:
    there, expected = Counter(held), []
    for value, added in changes:
        expected.append(not added and not there[value])
        there[value] += 1 if added else -1 if there[value] else 0
    signs = np.array([1 if added else -1 for _, added in changes], np.int8)
    found = without_row(
        [pa.array(held, pa.int64())], [pa.array([v for v, _ in changes], pa.int64())], signs
    )
    assert found.tolist() == expected
