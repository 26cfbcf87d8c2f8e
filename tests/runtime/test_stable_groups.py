"""Groups of rows, and running values in them, against a loop."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.runtime.stable_groups import StableGroups, running

SLOTS = st.lists(
    st.sampled_from([0, 1, 2, 65_535, 65_536, 70_000, 2**33]), min_size=1, max_size=300
)


@given(SLOTS)
def test_the_order_is_stable(slots: list[int]) -> None:
    groups = StableGroups.of(np.array(slots))
    assert groups.order.tolist() == sorted(range(len(slots)), key=slots.__getitem__)
    assert sum(groups.lengths) == len(slots)


@pytest.mark.parametrize("ufunc", [np.add, np.minimum, np.maximum])
@pytest.mark.parametrize("kind", [np.int64, np.int8, np.float64])
@given(slots=st.one_of(SLOTS, st.integers(100, 400).map(lambda n: [i % 90 for i in range(n)])))
def test_running_values(ufunc: np.ufunc, kind: type, slots: list[int]) -> None:
    values = (np.arange(len(slots)) * 37 % 101 / 3).astype(kind)
    groups = StableGroups.of(np.array(slots))
    begin = np.arange(groups.starts.size).astype(kind)
    kept = dict(zip(np.unique(slots).tolist(), begin, strict=True))
    expected = []
    with np.errstate(over="ignore"):
        for slot, value in zip(slots, values, strict=True):
            kept[slot] = ufunc(kept[slot], value)
            expected.append(kept[slot])
    assert running(ufunc, groups, begin, values).tolist() == expected
