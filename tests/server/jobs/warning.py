"""Reads numbers, and warns of each that is odd."""

from __future__ import annotations

import logging

from millrace.common import WatermarkStrategy
from millrace.connectors import DataGeneratorSource, RateLimiterStrategy
from millrace.datastream import StreamExecutionEnvironment
from millrace.testing import CollectingSink

log = logging.getLogger("shop")


def check(number: int) -> int:
    """The number, which ought to be even."""
    if number % 2:
        log.warning("number %d is odd", number)
    return number


def main() -> None:
    """Run the job."""
    env = StreamExecutionEnvironment.get_execution_environment()
    rate = RateLimiterStrategy.per_second(50)
    source = DataGeneratorSource(lambda number: number, rate_limiter_strategy=rate)
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    numbers.map(check).name("Check").sink_to(CollectingSink())
    env.execute("warning")


if __name__ == "__main__":
    main()
