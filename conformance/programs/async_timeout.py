"""A request that takes too long: the function's `timeout` gives the results."""

import asyncio

from pyflink.common import Time
from pyflink.datastream import AsyncDataStream, AsyncFunction, StreamExecutionEnvironment


class Slow(AsyncFunction):
    async def async_invoke(self, value):
        await asyncio.sleep(30 if value % 2 else 0.01)
        return [(value, "answer")]

    def timeout(self, value):
        return [(value, "timeout"), (value, "again")]


def build(env: StreamExecutionEnvironment):
    numbers = env.from_collection(list(range(4)))
    return AsyncDataStream.unordered_wait(numbers, Slow(), Time.milliseconds(700), 10)
