"""Asynchronous requests, results in order: here only that all of them come."""

import asyncio

from pyflink.common import Time
from pyflink.datastream import AsyncDataStream, AsyncFunction, StreamExecutionEnvironment


class Lookup(AsyncFunction):
    async def async_invoke(self, value):
        await asyncio.sleep(0.02 * (3 - value % 3))
        return [(value, value * value)]


def build(env: StreamExecutionEnvironment):
    numbers = env.from_collection(list(range(8)))
    return AsyncDataStream.ordered_wait(numbers, Lookup(), Time.seconds(10), 3)
