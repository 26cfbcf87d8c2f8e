"""A job at a fixed rate; tells how long each record took to be seen in a committed epoch.

    python paced.py --checkpoint-dir DIR --seconds S [--rate R] [--warm-up W]

Every record carries the time it was due (``due``: when a real source would have had it, whether or
not an epoch was ready to read it) and when the source made it (``stamp``). ``seen`` is when the
client got it from ``execute_and_collect``, after the checkpoint of its epoch. Prints one JSON line.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from typing import Any

from millrace.common import Configuration, Types, WatermarkStrategy
from millrace.connectors import DataGeneratorSource, RateLimiterStrategy
from millrace.datastream import (
    KeyedProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from millrace.datastream.state import ValueStateDescriptor

PARALLELISM = 2
KEYS = 1000
MS = 1_000_000


class CountAndPass(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(
        self, value: tuple[int, int], ctx: KeyedProcessFunction.Context
    ) -> Iterator[Any]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield ctx.timestamp(), value[1], count


def environment(checkpoint_dir: str) -> StreamExecutionEnvironment:
    config = Configuration()
    config.set_string("execution.checkpointing.dir", checkpoint_dir)
    config.set_string("execution.checkpointing.interval", "0 ms")
    config.set_string("millrace.executor", "epochs")  # as in RESULTS.md
    env = StreamExecutionEnvironment.get_execution_environment(config)
    return env.set_parallelism(PARALLELISM)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checkpoint-dir", required=True)
    parser.add_argument("--seconds", type=int, required=True)
    parser.add_argument("--rate", type=int, default=1000)
    parser.add_argument("--warm-up", type=int, default=8, help="seconds that do not count")
    return parser.parse_args()


def main() -> None:
    args = arguments()
    env = environment(args.checkpoint_dir)
    source = DataGeneratorSource(
        lambda i: (i % KEYS, time.time_ns()),
        count=(args.seconds + args.warm_up) * args.rate,
        rate_limiter_strategy=RateLimiterStrategy.per_second(args.rate),
        splits=PARALLELISM,
        timestamped=True,
    )
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "paced")
    counted = stream.key_by(lambda pair: pair[0]).process(CountAndPass())
    epoch_ms: list[float] = []
    env.launcher.listeners.append(lambda progress: epoch_ms.append(progress.epoch_ms))
    since_due: list[float] = []
    since_stamp: list[float] = []
    start = None
    with counted.execute_and_collect() as results:
        for due, stamp, _ in results:
            seen = time.time_ns()
            start = due if start is None else start
            if due - start >= args.warm_up * 1000:
                since_due.append(seen / MS - due)
                since_stamp.append((seen - stamp) / MS)
    report = {
        "rate": args.rate,
        "since_due_ms": [round(ms, 1) for ms in since_due],
        "since_stamp_ms": [round(ms, 1) for ms in since_stamp],
        "epoch_ms": [round(ms, 1) for ms in epoch_ms],
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main()
