"""Asynchronous requests, results as they come; a request may give none or several."""

import asyncio

from pyflink.common import Time, Types
from pyflink.datastream import AsyncDataStream, AsyncFunction, StreamExecutionEnvironment


class Lookup(AsyncFunction):
    async def async_invoke(self, value):
        await asyncio.sleep(0.01)
        return [value] * (value % 3)


def build(env: StreamExecutionEnvironment):
    numbers = env.from_collection(list(range(8)), type_info=Types.INT())
    stream = AsyncDataStream.unordered_wait(numbers, Lookup(), Time.seconds(10), 2, Types.INT())
    return stream.map(lambda value: value + 1)
