"""NumberSequenceSource."""

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from millrace.common.errors import JobDefinitionError
from millrace.common.source import ReaderContext
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
    with pytest.raises(JobDefinitionError, match="end 1 is less than its start 2"):
        NumberSequenceSource(2, 1)


def test_other_numbers_are_refused() -> None:
    with pytest.raises(JobDefinitionError, match="must be int"):
        NumberSequenceSource(0, 1e6)  # type: ignore[arg-type]


@pytest.mark.parametrize("start", [0, -3, (1 << 63) - 3, (1 << 63) - 2, -(1 << 63), 1 << 70])
def test_columns_are_those_of_the_records(start: int) -> None:
    source = NumberSequenceSource(start, start + 2, 1)
    [split] = source.create_enumerator().discover(now=0)
    batch = source.create_split_reader(split, None, ReaderContext(0, 1, lambda: 0)).read(10)
    assert batch.to_rows().values == [start, start + 1, start + 2]
    if start + 2 < 1 << 63:
        assert batch.to_columns().data.to_pydict() == {"value": batch.to_rows().values}
        assert batch.to_columns("value").form == "value"
        timed = replace(batch, timestamps=[7, 8, 9]).to_columns()
        assert timed.timestamps.to_pylist() == [7, 8, 9]
