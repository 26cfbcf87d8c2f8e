"""Barriers of resident tasks through one exchange, without any record.

    python resident_barriers.py --checkpoint-dir DIR --barriers N [--parallelism P]
        [--checkpoint]

With ``--checkpoint`` every epoch has a durable one; otherwise none is due while the job runs.
Prints one JSON line: ``barrier_ms`` and ``round_ms`` as `TimedBarriers` measures them, ``wall_ms``
from the end of one epoch to that of the next.
"""

from __future__ import annotations

import argparse
import json
import time
from contextlib import suppress
from typing import Any

from discarding_sink import DiscardingSink
from silent_source import SilentSource
from timed_barriers import time_barriers

from millrace.common import Configuration, Types, WatermarkStrategy
from millrace.common.errors import JobCancelledError
from millrace.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from millrace.datastream.state import ValueStateDescriptor
from millrace.engine.job_details import JobDetails

WARM_UP = 20
"""Barriers that do not count."""


class Last(KeyedProcessFunction):
    """The last number of a key: there is state, of which nothing changes."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.last = runtime_context.get_state(ValueStateDescriptor("last", Types.LONG()))

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Any:
        self.last.update(value)


class Ends:
    """A listener that notes how long epochs take, and stops the job after so many."""

    def __init__(self, barriers: int) -> None:
        self._left = WARM_UP + barriers
        self._last = time.perf_counter()
        self.stop: Any = None
        self.wall_ms: list[float] = []
        self.checkpoints = 0

    def __call__(self, progress: JobDetails) -> None:
        now = time.perf_counter()
        self.wall_ms.append(round((now - self._last) * 1000, 3))
        self._last = now
        self.checkpoints = progress.checkpoints.completed
        self._left -= 1
        if self._left == 0:
            self.stop()


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checkpoint-dir", required=True)
    parser.add_argument("--barriers", type=int, required=True)
    parser.add_argument("--parallelism", type=int, default=2)
    parser.add_argument("--checkpoint", action="store_true")
    return parser.parse_args()


def main() -> None:
    args = arguments()
    executors = time_barriers(at_once=True)
    options = {
        "execution.checkpointing.dir": args.checkpoint_dir,
        "execution.checkpointing.interval": "0 ms" if args.checkpoint else "1 h",
        "millrace.executor": "resident",
        "spark.master": "local[4,1000]",  # two for the tasks, two for Spark's own work
        "millrace.spark.tasks": "2",
    }
    env = StreamExecutionEnvironment.get_execution_environment(Configuration(options))
    env.set_parallelism(args.parallelism)
    source = SilentSource(args.parallelism)
    silent = env.from_source(source, WatermarkStrategy.no_watermarks(), "silent")
    silent.key_by(lambda i: i).process(Last()).sink_to(DiscardingSink())
    ends = Ends(args.barriers)
    env.launcher.listeners.append(ends)
    client = env.build_client("barriers")
    ends.stop = client.stop
    client.run()
    with suppress(JobCancelledError):  # that is how the stop ends it
        client.result()
    counted = slice(WARM_UP, WARM_UP + args.barriers)
    report = {
        "parallelism": args.parallelism,
        "barrier_ms": executors[0].barrier_ms[counted],
        "round_ms": executors[0].round_ms[counted],
        "wall_ms": ends.wall_ms[counted],
        "checkpoints": ends.checkpoints,
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main()
