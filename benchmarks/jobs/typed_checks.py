"""The keyed count with and without declared types, in this process.

    python typed_checks.py RECORDS ROUNDS

Prints one JSON line: CPU seconds of each run, one after the other in turn.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from typing import Any

from millrace.common import Types, WatermarkStrategy
from millrace.connectors import NumberSequenceSource
from millrace.datastream import (
    DataStream,
    KeyedProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from millrace.datastream.state import ValueState, ValueStateDescriptor
from millrace.testing import run_local

KEYS = 1000
LONG = Types.LONG()
PAIR = Types.TUPLE([LONG, LONG])


class Count(KeyedProcessFunction[int, int, tuple[int, int]]):
    def __init__(self, declared: bool) -> None:
        self.declared = declared

    def open(self, runtime_context: RuntimeContext) -> None:
        descriptor: ValueStateDescriptor[int] = ValueStateDescriptor("count")
        if self.declared:
            descriptor = ValueStateDescriptor("count", LONG)
        self.count: ValueState[int] = runtime_context.get_state(descriptor)

    def process_element(self, value: int, ctx: Any) -> Iterator[tuple[int, int]]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield value, count


def counts(records: int, declared: bool) -> DataStream[tuple[int, int]]:
    env = StreamExecutionEnvironment.get_execution_environment()
    source = NumberSequenceSource(1, records)
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    keyed = numbers.key_by(lambda i: i % KEYS, key_type=LONG if declared else None)
    return keyed.process(Count(declared), PAIR if declared else None)


def seconds(records: int, declared: bool) -> float:
    with run_local(epoch_records=100_000):
        last = counts(records, declared).filter(lambda count: count[0] == records)
        start = time.process_time()
        assert len(list(last.execute_and_collect())) == 1
        return time.process_time() - start


if __name__ == "__main__":
    records, rounds = int(sys.argv[1]), int(sys.argv[2])
    seconds(records // 10, True)
    found = [(seconds(records, True), seconds(records, False)) for _ in range(rounds)]
    print(json.dumps({"rounds": found}))
