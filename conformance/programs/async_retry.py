"""Requests that are made again: while the result is empty, and after an exception."""

from pyflink.common import Time
from pyflink.datastream import (
    AsyncDataStream,
    AsyncFunction,
    AsyncRetryStrategy,
    StreamExecutionEnvironment,
)
from pyflink.datastream.async_retry_predicates import (
    empty_result_predicate,
    has_exception_predicate,
)


class Flaky(AsyncFunction):
    def __init__(self):
        self.calls = {}

    async def async_invoke(self, value):
        calls = self.calls[value] = self.calls.get(value, 0) + 1
        if calls == 1 and value % 2:
            raise ValueError("at first")
        if calls < 3 and value == 4:
            return []
        return [(value, calls)]


def build(env: StreamExecutionEnvironment):
    retry = AsyncRetryStrategy.fixed_delay(5, 10, empty_result_predicate, has_exception_predicate)
    numbers = env.from_collection(list(range(6)))
    return AsyncDataStream.ordered_wait_with_retry(numbers, Flaky(), Time.seconds(20), retry, 10)
