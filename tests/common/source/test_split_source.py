"""Readers of several splits."""

from __future__ import annotations

import pytest

from millrace.common.source.split_source import earliest


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        ([], None),
        ([None], None),
        ([None, None], None),
        ([250], 250),
        ([250, 120], 120),
        ([None, 120], None),  # the poll comes first
        ([None, 100], None),
        ([None, 99], 99),
    ],
)
def test_a_known_time_counts_if_no_poll_comes_before_it(
    times: list[int | None], expected: int | None
) -> None:
    assert earliest(times, poll=100) == expected
