"""Counts numbers per remainder for ever, slowly, in state that can be queried: no arguments."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

from millrace.common import Configuration, WatermarkStrategy
from millrace.connectors import NumberSequenceSource
from millrace.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from millrace.datastream.state import ValueStateDescriptor

KEYS = 3
SETTINGS = {"execution.checkpointing.interval": "100 ms", "rest.enabled": "true"}


class Count(KeyedProcessFunction[int, tuple[int, int], tuple[int, int]]):
    """Counts in queryable state and in a metric."""

    def open(self, runtime_context: RuntimeContext) -> None:
        descriptor = ValueStateDescriptor("sightings")
        descriptor.set_queryable("sightings")
        self.sightings = runtime_context.get_state(descriptor)
        self.counter = runtime_context.get_metrics_group().counter("counted")

    def process_element(self, value: tuple[int, int], ctx: Any) -> Iterable[tuple[int, int]]:
        count = (self.sightings.value() or 0) + 1
        self.sightings.update(count)
        self.counter.inc()
        time.sleep(0.005)  # the source waits for this operator
        yield value[0], count


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment(Configuration(SETTINGS))
    source = NumberSequenceSource(1, 10**9, splits=1)
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").uid("numbers")
    pairs = numbers.map(lambda number: (number % KEYS, number)).uid("pairs")
    counts = pairs.key_by(lambda pair: pair[0]).process(Count()).name("Count").uid("count")
    counts.filter(lambda pair: pair[1] == 1).print("first").uid("print")
    env.execute("sightings")


if __name__ == "__main__":
    main()
