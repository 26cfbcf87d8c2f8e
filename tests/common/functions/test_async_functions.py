"""Retry strategies of asynchronous I/O."""

from __future__ import annotations

import pytest

from millrace.common.errors import JobDefinitionError
from millrace.common.functions.async_functions import AsyncRetryStrategy


def is_empty(results) -> bool:
    return not results


def is_os_error(error) -> bool:
    return isinstance(error, OSError)


def test_no_restart() -> None:
    strategy = AsyncRetryStrategy.no_restart()
    assert not strategy.can_retry(1)
    assert strategy.get_retry_predicate().result_predicate() is None
    assert strategy.get_retry_predicate().exception_predicate() is None


def test_fixed_delay() -> None:
    strategy = AsyncRetryStrategy.fixed_delay(3, 100, is_empty, is_os_error)
    assert [strategy.can_retry(attempts) for attempts in (1, 3, 4)] == [True, True, False]
    assert [strategy.get_backoff_time_millis(attempts) for attempts in (1, 3)] == [100, 100]
    predicate = strategy.get_retry_predicate()
    assert predicate.result_predicate() is is_empty
    assert predicate.exception_predicate() is is_os_error


def test_exponential_backoff() -> None:
    strategy = AsyncRetryStrategy.exponential_backoff(5, 100, 1000, 2.0, is_empty, is_os_error)
    assert [strategy.can_retry(attempts) for attempts in (1, 5, 6)] == [True, True, False]
    delays = [strategy.get_backoff_time_millis(attempts) for attempts in range(1, 7)]
    assert delays == [100, 200, 400, 800, 1000, 1000]
    assert strategy.get_backoff_time_millis(10_000) == 1000
    assert strategy.get_retry_predicate().result_predicate() is is_empty


@pytest.mark.parametrize(
    "make",
    [
        lambda: AsyncRetryStrategy.fixed_delay(-1, 100),
        lambda: AsyncRetryStrategy.fixed_delay(1, -100),
        lambda: AsyncRetryStrategy.exponential_backoff(1, 100, -1, 2.0),
    ],
)
def test_negative_numbers_are_refused(make) -> None:
    with pytest.raises(JobDefinitionError, match="numbers of at least 0"):
        make()


def test_a_delay_that_shrinks_is_refused() -> None:
    with pytest.raises(JobDefinitionError, match=r"multiplier of at least 1, got 0\.5"):
        AsyncRetryStrategy.exponential_backoff(1, 100, 1000, 0.5)
