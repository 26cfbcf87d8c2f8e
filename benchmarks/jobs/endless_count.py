"""Counts records per key without end, as fast as it can or at a rate: [RATE [INTERVAL]].

A program for the job server. INTERVAL is that of checkpoints; without it each epoch makes one.
"""

from __future__ import annotations

import sys
from typing import Any

from millrace.common import Configuration, Types, WatermarkStrategy
from millrace.connectors import DataGeneratorSource, RateLimiterStrategy
from millrace.datastream import (
    KeyedProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from millrace.datastream.state import ValueStateDescriptor

KEYS = 1_000
PARALLELISM = 2
ENDLESS = 1 << 50


class Count(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: int, ctx: Any) -> None:
        self.count.update((self.count.value() or 0) + 1)


def build(rate: float | None = None, interval: str = "0 ms") -> StreamExecutionEnvironment:
    settings = {"execution.checkpointing.interval": interval}
    if interval != "0 ms":
        # an epoch without Spark takes 2 ms: twenty such jobs would do nothing but begin epochs
        settings["millrace.epoch.min-interval"] = "100 ms"
    env = StreamExecutionEnvironment.get_execution_environment(Configuration(settings))
    env.set_parallelism(PARALLELISM)
    limits = {} if rate is None else {"rate_limiter_strategy": RateLimiterStrategy.per_second(rate)}
    source = DataGeneratorSource(lambda i: i, count=ENDLESS, splits=PARALLELISM, **limits)
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    numbers.key_by(lambda i: i % KEYS).process(Count()).uid("count").print()
    return env


if __name__ == "__main__":
    build(*map(float, sys.argv[1:2]), *sys.argv[2:]).execute("endless count")
