"""Asynchronous I/O (Flink docs, "Asynchronous I/O for External Data Access")."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from millrace.common.errors import JobDefinitionError
from millrace.common.functions.base import Function

__all__ = [
    "AsyncFunction",
    "AsyncRetryPredicate",
    "AsyncRetryStrategy",
    "ExponentialBackoffDelayRetryStrategy",
    "FixedDelayRetryStrategy",
    "NoRetryStrategy",
    "RetryPredicate",
]

IN_contra = TypeVar("IN_contra", contravariant=True)
OUT_co = TypeVar("OUT_co", covariant=True)
ResultPredicate = Callable[[list[Any]], bool]
ExceptionPredicate = Callable[[BaseException], bool]


class AsyncFunction(Function, Generic[IN_contra, OUT_co]):
    """Function that sends a request to an external system for each record, with many requests in
    flight.

    Example:
        >>> import asyncio
        >>> class Lookup(AsyncFunction):
        ...     async def async_invoke(self, value):
        ...         await asyncio.sleep(0.001)
        ...         return [(value, "found")]
        >>> asyncio.run(Lookup().async_invoke(1))
        [(1, 'found')]
    """

    @abstractmethod
    async def async_invoke(self, value: IN_contra) -> list[OUT_co]:
        """The results for a record. It runs in an event loop, so a call that blocks delays all
        requests. After a failure of the job, a request may be repeated.
        """

    def timeout(self, value: IN_contra) -> list[OUT_co]:
        """The results for a record whose request took too long; unless overridden, the job
        fails."""
        raise TimeoutError(f"the asynchronous request for {value!r} has timed out")


class AsyncRetryPredicate(ABC):
    """Decides whether a request is repeated, by the result or the exception of the attempt."""

    @abstractmethod
    def result_predicate(self) -> ResultPredicate | None:
        """Predicate on results: if it is true, the request is repeated; None if no result causes a
        repetition.
        """

    @abstractmethod
    def exception_predicate(self) -> ExceptionPredicate | None:
        """Predicate on exceptions: if it is true, the request is repeated; None if no exception
        causes a repetition.
        """


@dataclass(frozen=True)
class RetryPredicate(AsyncRetryPredicate):
    """Predicates made of one or two functions."""

    result: ResultPredicate | None = None
    exception: ExceptionPredicate | None = None

    def result_predicate(self) -> ResultPredicate | None:
        return self.result

    def exception_predicate(self) -> ExceptionPredicate | None:
        return self.exception


class AsyncRetryStrategy(ABC):
    """Number and delays of a request's attempts. The operator's timeout covers all attempts
    together.

    Example:
        >>> strategy = AsyncRetryStrategy.fixed_delay(3, 100, None, lambda error: True)
        >>> strategy.can_retry(3), strategy.can_retry(4)
        (True, False)
    """

    @abstractmethod
    def can_retry(self, current_attempts: int) -> bool:
        """Whether another attempt may follow the given number of attempts."""

    @abstractmethod
    def get_backoff_time_millis(self, current_attempts: int) -> int:
        """Delay before the next attempt, in ms."""

    @abstractmethod
    def get_retry_predicate(self) -> AsyncRetryPredicate:
        """Predicate that decides whether a request is repeated."""

    @staticmethod
    def no_restart() -> AsyncRetryStrategy:
        """Strategy with one attempt only."""
        return NoRetryStrategy()

    @staticmethod
    def fixed_delay(
        max_attempts: int,
        backoff_time_millis: int,
        result_predicate: ResultPredicate | None = None,
        exception_predicate: ExceptionPredicate | None = None,
    ) -> AsyncRetryStrategy:
        """Strategy with the same delay before each of up to ``max_attempts`` further attempts.

        Raises:
            JobDefinitionError: a number is negative.
        """
        predicates = RetryPredicate(result_predicate, exception_predicate)
        return FixedDelayRetryStrategy(max_attempts, backoff_time_millis, predicates)

    @staticmethod
    def exponential_backoff(
        max_attempts: int,
        initial_delay: int,
        max_retry_delay: int,
        multiplier: float,
        result_predicate: ResultPredicate | None = None,
        exception_predicate: ExceptionPredicate | None = None,
    ) -> AsyncRetryStrategy:
        """Strategy whose delay grows by ``multiplier`` from attempt to attempt, up to a maximum
        (ms).

        Raises:
            JobDefinitionError: a number is negative, or the multiplier below 1.
        """
        predicates = RetryPredicate(result_predicate, exception_predicate)
        return ExponentialBackoffDelayRetryStrategy(
            max_attempts, initial_delay, max_retry_delay, multiplier, predicates
        )


class NoRetryStrategy(AsyncRetryStrategy):
    """Strategy with one attempt only."""

    def can_retry(self, current_attempts: int) -> bool:
        return False

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        return 0

    def get_retry_predicate(self) -> AsyncRetryPredicate:
        return RetryPredicate()


@dataclass(frozen=True)
class FixedDelayRetryStrategy(AsyncRetryStrategy):
    """Strategy that `AsyncRetryStrategy.fixed_delay` makes."""

    max_attempts: int
    backoff_time_millis: int
    predicates: AsyncRetryPredicate = RetryPredicate()

    def __post_init__(self) -> None:
        _check_not_negative(self.max_attempts, self.backoff_time_millis)

    def can_retry(self, current_attempts: int) -> bool:
        return current_attempts <= self.max_attempts

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        return self.backoff_time_millis

    def get_retry_predicate(self) -> AsyncRetryPredicate:
        return self.predicates


@dataclass(frozen=True)
class ExponentialBackoffDelayRetryStrategy(AsyncRetryStrategy):
    """Strategy that `AsyncRetryStrategy.exponential_backoff` makes."""

    max_attempts: int
    initial_delay: int
    max_retry_delay: int
    multiplier: float
    predicates: AsyncRetryPredicate = RetryPredicate()

    def __post_init__(self) -> None:
        _check_not_negative(self.max_attempts, self.initial_delay, self.max_retry_delay)
        if self.multiplier < 1:
            raise JobDefinitionError(
                f"exponential_backoff() needs a multiplier of at least 1, got {self.multiplier}"
            )

    def can_retry(self, current_attempts: int) -> bool:
        return current_attempts <= self.max_attempts

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        try:
            delay = self.initial_delay * self.multiplier ** max(current_attempts - 1, 0)
        except OverflowError:
            delay = self.max_retry_delay
        return int(min(delay, self.max_retry_delay))

    def get_retry_predicate(self) -> AsyncRetryPredicate:
        return self.predicates


def _check_not_negative(*numbers: int) -> None:
    if any(number < 0 for number in numbers):
        raise JobDefinitionError(f"a retry strategy takes numbers of at least 0, got {numbers}")
