"""Adds up numbers per remainder, slowly and for ever: DIRECTORY."""

from __future__ import annotations

import sys
import time

from millrace.common import Configuration, WatermarkStrategy
from millrace.common.serialization import SimpleStringEncoder
from millrace.connectors import FileSink, NumberSequenceSource
from millrace.datastream import StreamExecutionEnvironment

SETTINGS = {
    "execution.checkpointing.interval": "100 ms",
    "millrace.epoch.initial-records-per-split": "5",
    "millrace.epoch.max-records-per-split": "5",
}


def slowly(value: int) -> int:
    time.sleep(0.01)
    return value


def build(directory: str) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment(Configuration(SETTINGS))
    source = NumberSequenceSource(1, 10**9, splits=1)
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").map(slowly)
    pairs = numbers.map(lambda number: (number % 3, number))
    totals = pairs.key_by(lambda pair: pair[0]).reduce(lambda a, b: (a[0], a[1] + b[1]))
    sink = FileSink.for_row_format(directory, SimpleStringEncoder()).build()
    totals.uid("totals").map(str).sink_to(sink).uid("file")
    return env


if __name__ == "__main__":
    build(sys.argv[1]).execute("totals")
