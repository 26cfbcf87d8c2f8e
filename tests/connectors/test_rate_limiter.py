"""RateLimiterStrategy: due times and due counts agree exactly."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.common.errors import JobDefinitionError
from millrace.connectors.rate_limiter import RateLimiterStrategy

rates = st.one_of(
    st.integers(1, 5_000_000), st.floats(0.001, 1e6, allow_nan=False, allow_infinity=False)
)


@given(rates, st.integers(0, 10_000_000))
def test_a_record_is_due_at_its_time_and_not_before(rate: float, ordinal: int) -> None:
    strategy = RateLimiterStrategy.per_second(rate)
    due = strategy.due_offset(ordinal)
    assert strategy.last_due(due) >= ordinal
    assert strategy.last_due(due - 1) < ordinal


def test_the_rate_holds_over_a_second() -> None:
    assert RateLimiterStrategy.per_second(3).last_due(1000) == 3
    assert RateLimiterStrategy.per_second(0.5).due_offset(1) == 2000


@pytest.mark.parametrize("rate", [0, -1, -0.5])
def test_a_rate_that_is_not_positive_is_refused(rate: float) -> None:
    with pytest.raises(JobDefinitionError, match="must be positive"):
        RateLimiterStrategy.per_second(rate)


def test_no_op_is_always_due() -> None:
    assert RateLimiterStrategy.no_op().due_offset(10**9) == 0
