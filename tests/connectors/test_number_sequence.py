"""NumberSequenceSource."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from millrace.common.errors import JobDefinitionError
from millrace.connectors.number_sequence import NumberSequenceSource

reuse = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


@reuse
@given(
    start=st.integers(-100, 100),
    more=st.integers(0, 60),
    splits=st.integers(1, 10),
    step=st.integers(1, 9),
    restarts=st.lists(st.booleans()),
)
def test_both_ends_are_included_and_restarts_change_nothing(
    source_harness, *, start: int, more: int, splits: int, step: int, restarts: list[bool]
) -> None:
    source = NumberSequenceSource(start, start + more, splits)
    expected = list(range(start, start + more + 1))
    assert source_harness(source).read_all(step, restarts) == expected


def test_an_end_below_the_start_is_refused() -> None:
    with pytest.raises(JobDefinitionError, match="end 1 lies below its start 2"):
        NumberSequenceSource(2, 1)


def test_other_numbers_are_refused() -> None:
    with pytest.raises(JobDefinitionError, match="must be int"):
        NumberSequenceSource(0, 1e6)  # type: ignore[arg-type]
