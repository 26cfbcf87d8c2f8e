"""A job of a hundred operators that are not chained, with few records and no end."""

from __future__ import annotations

from millrace.common import Configuration, WatermarkStrategy
from millrace.connectors import DataGeneratorSource, RateLimiterStrategy
from millrace.datastream import StreamExecutionEnvironment

BRANCHES, STEPS = 11, 9
OPERATORS = 1 + BRANCHES * STEPS
SETTINGS = {
    "parallelism.default": "2",
    "execution.checkpointing.interval": "2 s",
    # the job is looked at, not measured
    "millrace.epoch.min-interval": "2 s",
}


def build() -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment(Configuration(SETTINGS))
    slowly = RateLimiterStrategy.per_second(50)
    source = DataGeneratorSource(lambda i: i, count=1 << 50, rate_limiter_strategy=slowly)
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    for branch in range(1, BRANCHES + 1):
        stream = numbers
        for step in range(1, STEPS + 1):
            name = f"Step {branch}.{step}"
            stream = stream.rebalance().map(lambda number: number + 1).name(name)
        stream.print()
    return env


if __name__ == "__main__":
    build().execute("hundred operators")
