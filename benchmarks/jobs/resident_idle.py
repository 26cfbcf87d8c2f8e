"""What a job without input costs: processor time of its Python processes and of the JVM.

    python resident_idle.py --checkpoint-dir DIR --seconds S [--warm-up W] [--executor NAME]

Source, exchange and keyed state as everywhere, default options. Prints one JSON line: seconds of
processor time, of `cpu_seconds`, within ``seconds`` after the warm-up.
"""

from __future__ import annotations

import argparse
import json
import time

from cpu_seconds import cpu_seconds
from discarding_sink import DiscardingSink
from resident_barriers import Last
from silent_source import SilentSource

from millrace.common import Configuration, WatermarkStrategy
from millrace.datastream import StreamExecutionEnvironment

PARALLELISM = 2
START = 60.0
"""Seconds within which the job must have begun."""


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checkpoint-dir", required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--warm-up", type=float, default=20)
    parser.add_argument("--executor", default="resident")
    return parser.parse_args()


def main() -> None:
    args = arguments()
    options = {
        "execution.checkpointing.dir": args.checkpoint_dir,
        "millrace.executor": args.executor,
    }
    env = StreamExecutionEnvironment.get_execution_environment(Configuration(options))
    env.set_parallelism(PARALLELISM)
    source = SilentSource(PARALLELISM)
    silent = env.from_source(source, WatermarkStrategy.no_watermarks(), "silent")
    silent.key_by(lambda i: i).process(Last()).sink_to(DiscardingSink())
    client = env.build_client("idle").start()
    client.trigger_checkpoint().result(START)
    time.sleep(args.warm_up)
    before, began = cpu_seconds(), time.perf_counter()
    time.sleep(args.seconds)
    spent, seconds = cpu_seconds(), time.perf_counter() - began
    spent.subtract(before)
    client.stop()
    client.when_done(lambda: None)
    while not client.get_job_execution_result().done():
        time.sleep(0.1)
    print(json.dumps({"seconds": round(seconds, 3), **spent}))


if __name__ == "__main__":
    main()
