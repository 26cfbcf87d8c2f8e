"""An operator that takes 10 ms a record and gets far too many, most of them of one key.

    python resident_hot_key.py --checkpoint-dir DIR --seconds S [--executor NAME]

1,000 records/s, 90 % of one key, so its subtask can take a tenth of what comes, and all before it
is back-pressured. A checkpoint each second. After the time the job is stopped with a savepoint.
Prints one JSON line.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from typing import Any

from discarding_sink import DiscardingSink
from timed_barriers import time_barriers

from millrace.common import Configuration, Types, WatermarkStrategy
from millrace.connectors import DataGeneratorSource, RateLimiterStrategy
from millrace.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from millrace.datastream.state import ValueStateDescriptor
from millrace.engine.job_details import JobDetails

PARALLELISM = 2
RATE = 1000
KEYS = 100
SECONDS_PER_RECORD = 0.010
PATIENCE = 300.0


class Slow(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[int]:
        time.sleep(SECONDS_PER_RECORD)
        self.count.update((self.count.value() or 0) + 1)
        yield value


class Checkpoints:
    """A listener that notes how long each checkpoint took, from its trigger."""

    def __init__(self) -> None:
        self.ms: dict[int, float] = {}
        self.records = 0

    def __call__(self, progress: JobDetails) -> None:
        self.records = progress.records
        for checkpoint in progress.checkpoints.recent:
            if checkpoint.number is not None:
                self.ms[checkpoint.number] = round(checkpoint.duration, 1)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checkpoint-dir", required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--executor", default="resident")
    return parser.parse_args()


def key_of(number: int) -> int:
    """Key of a record: 0 for nine of ten."""
    return number % KEYS if number % 10 == 9 else 0


def asked(act: Any) -> float:
    """Seconds until a request is answered."""
    began = time.perf_counter()
    act().result(PATIENCE)
    return round(time.perf_counter() - began, 3)


def main() -> None:
    args = arguments()
    executors = time_barriers()
    options = {
        "execution.checkpointing.dir": f"{args.checkpoint_dir}/checkpoints",
        "execution.checkpointing.savepoint-dir": f"{args.checkpoint_dir}/savepoints",
        "execution.checkpointing.interval": "1 s",
        "millrace.executor": args.executor,
    }
    env = StreamExecutionEnvironment.get_execution_environment(Configuration(options))
    env.set_parallelism(PARALLELISM)
    source = DataGeneratorSource(
        key_of, 1 << 40, rate_limiter_strategy=RateLimiterStrategy.per_second(RATE),
        splits=PARALLELISM,
    )  # fmt: skip
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    numbers.key_by(lambda key: key).process(Slow()).sink_to(DiscardingSink())
    checkpoints = Checkpoints()
    env.launcher.listeners.append(checkpoints)
    client = env.build_client("hot key").start()
    while not checkpoints.ms:
        time.sleep(0.1)
        if client.get_job_execution_result().done():
            client.result()
    time.sleep(args.seconds)
    report = {
        "checkpoint_s": asked(client.trigger_checkpoint),
        "savepoint_s": asked(client.trigger_savepoint),
        "stop_s": asked(client.stop_with_savepoint),
        "barrier_ms": executors[0].barrier_ms[1:],
        "checkpoint_ms": [ms for _, ms in sorted(checkpoints.ms.items())],
        "records": checkpoints.records,
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main()
