"""Cutting ranges of indices into splits."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.common.errors import JobDefinitionError
from millrace.connectors.index_range import index_range_splits, require_at_least


@given(st.integers(-1000, 1000), st.integers(0, 500), st.integers(1, 40))
def test_splits_cover_the_range_once_and_evenly(start: int, size: int, parts: int) -> None:
    splits = index_range_splits(start, start + size, parts)
    covered = [index for split in splits for index in range(split.start, split.end)]
    assert covered == list(range(start, start + size))
    assert len(splits) == min(parts, size)
    sizes = {split.end - split.start for split in splits}
    assert not sizes or max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize("value", [0, -1, 1.5, True, "2"])
def test_a_wrong_number_is_refused_by_name(value: object) -> None:
    with pytest.raises(JobDefinitionError, match="splits must be a whole number >= 1"):
        require_at_least(1, splits=value)
