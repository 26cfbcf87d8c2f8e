"""Writes 1, 2, 3 and so on, each number once, slowly: FILE [LAST]."""

from __future__ import annotations

import sys
import time

from millrace.common import Configuration, WatermarkStrategy
from millrace.common.serialization import SimpleStringEncoder
from millrace.connectors import FileSink, NumberSequenceSource, RollingPolicy
from millrace.datastream import StreamExecutionEnvironment

SETTINGS = {
    "execution.checkpointing.interval": "100 ms",
    "millrace.epoch.initial-records-per-split": "5",
    "millrace.epoch.max-records-per-split": "5",
}


def slowly(value: int) -> int:
    time.sleep(0.01)
    return value


def build(directory: str, last: int = 10**9) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment(Configuration(SETTINGS))
    source = NumberSequenceSource(1, last, splits=1)  # several would count from several numbers
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    files = FileSink.for_row_format(directory, SimpleStringEncoder())
    # else nothing would be seen for a minute
    sink = files.with_rolling_policy(RollingPolicy.on_checkpoint_rolling_policy()).build()
    numbers.rebalance().map(slowly).uid("slowly").map(str).sink_to(sink).uid("file")
    return env


if __name__ == "__main__":
    build(sys.argv[1], *map(int, sys.argv[2:])).execute("counting")
