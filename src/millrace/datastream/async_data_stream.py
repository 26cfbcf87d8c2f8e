"""Asynchronous I/O on streams (Flink docs, "Asynchronous I/O for External Data Access")."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from datetime import timedelta
from functools import partial
from typing import Any, TypeVar

from millrace.common.errors import JobDefinitionError
from millrace.common.functions.async_functions import AsyncFunction, AsyncRetryStrategy
from millrace.common.time.amounts import Duration, Time, millis
from millrace.common.types.typeinfo import TypeInformation
from millrace.datastream import async_retry_strategies
from millrace.datastream.stream import DataStream
from millrace.runtime.operators.async_wait import AsyncSpec, AsyncWaitOperator

__all__ = [
    "AsyncDataStream",
    "async_retry_strategies",
]

T = TypeVar("T")
U = TypeVar("U")
Asking = AsyncFunction[T, U] | Callable[[T], Awaitable[list[U]]]
Amount = Time | Duration | timedelta | int


class AsyncDataStream:
    """Makes asynchronous requests for the records of a stream. Flink: class ``AsyncDataStream``.

    All methods take: the stream; an `AsyncFunction` or a coroutine function that returns a list of
    results; how long a request may take, retries included; how many may be under way in a subtask.
    Requests that are under way when an epoch ends are part of the checkpoint and go on; with
    ``drain`` every epoch waits for its requests instead.

    Example:
        >>> from millrace.datastream import StreamExecutionEnvironment
        >>> async def lookup(value):
        ...     return [(value, "found")]
        >>> env = StreamExecutionEnvironment.get_execution_environment()
        >>> stream = env.from_collection([1, 2])
        >>> AsyncDataStream.ordered_wait(stream, lookup, Time.seconds(1)).get_name()
        'Async Wait'
    """

    @staticmethod
    def unordered_wait(
        data_stream: DataStream[T],
        async_function: Asking[T, U],
        timeout: Amount,
        capacity: int = 100,
        output_type: TypeInformation[Any] | None = None,
        *,
        drain: bool = False,
    ) -> DataStream[U]:
        """Emit results in the order in which requests end; they never overtake a watermark."""
        spec = _spec(timeout, AsyncRetryStrategy.no_restart(), capacity, False, drain)
        return _wait(data_stream, async_function, spec, output_type)

    @staticmethod
    def unordered_wait_with_retry(
        data_stream: DataStream[T],
        async_function: Asking[T, U],
        timeout: Amount,
        async_retry_strategy: AsyncRetryStrategy,
        capacity: int = 100,
        output_type: TypeInformation[Any] | None = None,
        *,
        drain: bool = False,
    ) -> DataStream[U]:
        """`unordered_wait` with retries of requests."""
        spec = _spec(timeout, async_retry_strategy, capacity, False, drain)
        return _wait(data_stream, async_function, spec, output_type)

    @staticmethod
    def ordered_wait(
        data_stream: DataStream[T],
        async_function: Asking[T, U],
        timeout: Amount,
        capacity: int = 100,
        output_type: TypeInformation[Any] | None = None,
        *,
        drain: bool = False,
    ) -> DataStream[U]:
        """Emit results in the order of the records."""
        spec = _spec(timeout, AsyncRetryStrategy.no_restart(), capacity, True, drain)
        return _wait(data_stream, async_function, spec, output_type)

    @staticmethod
    def ordered_wait_with_retry(
        data_stream: DataStream[T],
        async_function: Asking[T, U],
        timeout: Amount,
        async_retry_strategy: AsyncRetryStrategy,
        capacity: int = 100,
        output_type: TypeInformation[Any] | None = None,
        *,
        drain: bool = False,
    ) -> DataStream[U]:
        """`ordered_wait` with retries of requests."""
        spec = _spec(timeout, async_retry_strategy, capacity, True, drain)
        return _wait(data_stream, async_function, spec, output_type)


def _wait(
    stream: DataStream[Any],
    function: Any,
    spec: AsyncSpec,
    output_type: TypeInformation[Any] | None,
) -> DataStream[Any]:
    if not isinstance(function, AsyncFunction) and not inspect.iscoroutinefunction(function):
        raise JobDefinitionError(
            f"AsyncDataStream takes an AsyncFunction or an 'async def' function, got {function!r}"
        )
    if isinstance(function, AsyncFunction) and not inspect.iscoroutinefunction(
        function.async_invoke
    ):
        raise JobDefinitionError(
            f"{type(function).__name__}.async_invoke must be an 'async def' method"
        )
    factory = partial(AsyncWaitOperator, function, spec)
    return stream._then("Async Wait", factory, function, output_type=output_type)


def _spec(
    timeout: Amount, retry: AsyncRetryStrategy, capacity: int, ordered: bool, drain: bool
) -> AsyncSpec:
    if not isinstance(retry, AsyncRetryStrategy):
        raise JobDefinitionError(
            f"AsyncDataStream takes an AsyncRetryStrategy as retry strategy, got {retry!r}"
        )
    if millis(timeout) <= 0 or capacity <= 0:
        raise JobDefinitionError(
            f"AsyncDataStream needs a timeout and a capacity above 0, got {millis(timeout)} "
            f"ms and {capacity}"
        )
    return AsyncSpec(millis(timeout), capacity, ordered, retry, drain)
