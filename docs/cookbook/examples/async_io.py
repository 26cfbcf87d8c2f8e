import asyncio

from millrace.common import Time
from millrace.datastream import (
    AsyncDataStream,
    AsyncFunction,
    AsyncRetryStrategy,
    StreamExecutionEnvironment,
)


class Price(AsyncFunction[str, str]):
    """Stands for a service that needs a while, and does not know everything."""

    def __init__(self) -> None:
        self.prices = {"pen": 2, "lamp": 30}

    async def async_invoke(self, value: str) -> list[str]:
        await asyncio.sleep(0.01)
        return [f"a {value} costs {self.prices[value]}"]

    def timeout(self, value: str) -> list[str]:
        return [f"nobody said what a {value} costs"]


def is_worth_another_try(error: BaseException) -> bool:
    return isinstance(error, ConnectionError)


env = StreamExecutionEnvironment.get_execution_environment()
articles = env.from_collection(["pen", "lamp", "pen"])
retry = AsyncRetryStrategy.fixed_delay(3, 100, None, is_worth_another_try)
AsyncDataStream.ordered_wait_with_retry(
    articles, Price(), timeout=Time.seconds(5), async_retry_strategy=retry, capacity=100
).print()
env.execute("prices")
