"""A job whose state is asked for while it runs; tells how long each answer took.

    python queried.py --checkpoint-dir DIR --keys K --seconds S

The job counts 1,000 records a second over K keys and makes a checkpoint in every epoch. The
questions come from a process of its own over one connection on loopback, one after the other, for
keys at random. Prints one JSON line.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import time
from typing import Any

from millrace.common import Configuration, Types, WatermarkStrategy
from millrace.common.errors import StateError
from millrace.connectors import DataGeneratorSource, RateLimiterStrategy
from millrace.datastream import (
    KeyedProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from millrace.datastream.state import ValueStateDescriptor
from millrace.rest import QueryableStateClient, QueryableStateError

PARALLELISM = 2
RATE = 1_000
NAME = "queried"
START_UP = 120
"""Seconds until the first answer must have come."""


class Count(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        descriptor = ValueStateDescriptor("count", Types.LONG())
        descriptor.set_queryable("counts")
        self.count = runtime_context.get_state(descriptor)

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> None:
        self.count.update((self.count.value() or 0) + 1)


def environment(checkpoint_dir: str) -> StreamExecutionEnvironment:
    settings = {
        "execution.checkpointing.dir": checkpoint_dir,
        "execution.checkpointing.interval": "0 ms",
        "rest.enabled": "true",
        "millrace.executor": "epochs",  # as in RESULTS.md
    }
    env = StreamExecutionEnvironment.get_execution_environment(Configuration(settings))
    return env.set_parallelism(PARALLELISM)


def start(args: argparse.Namespace) -> Any:
    env = environment(args.checkpoint_dir)
    every_key = DataGeneratorSource(lambda i: i, count=args.keys, splits=PARALLELISM)
    keys = args.keys
    steady = DataGeneratorSource(
        lambda i: i * 7919 % keys,
        count=1 << 40,
        rate_limiter_strategy=RateLimiterStrategy.per_second(RATE),
        splits=PARALLELISM,
    )
    none = WatermarkStrategy.no_watermarks()
    numbers = env.from_source(every_key, none, "every key").union(
        env.from_source(steady, none, "steady")
    )
    numbers.key_by(lambda key: key).process(Count()).uid("count").print()
    return env.execute_async(NAME)


def client_of(args: argparse.Namespace) -> QueryableStateClient:
    """A client, once all keys can be asked for."""
    deadline = time.monotonic() + START_UP
    while True:
        try:
            client = QueryableStateClient.of_job(args.checkpoint_dir, NAME)
            if client.states()[0]["keys"] == args.keys:
                return client
        except (StateError, QueryableStateError, IndexError):
            pass
        if time.monotonic() > deadline:
            raise TimeoutError(f"the state is not there after {START_UP} s")
        time.sleep(0.1)


def ask(args: argparse.Namespace) -> dict[str, Any]:
    """Ask for keys at random for as long as told."""
    client = client_of(args)
    choose = random.Random(4)
    path = f"/jobs/{NAME}/state/count/counts"
    first = client.ask(f"{path}/0")["checkpoint"]
    took: list[float] = []
    end = time.monotonic() + args.seconds
    while time.monotonic() < end:
        key = choose.randrange(args.keys)
        before = time.perf_counter()
        answer = client.ask(f"{path}/{key}")
        took.append((time.perf_counter() - before) * 1000)
        assert answer["value"] >= 1
        time.sleep(0.001)
    return {
        "answer_ms": [round(ms, 3) for ms in took],
        "checkpoints": answer["checkpoint"] - first,
        "keys": args.keys,
    }


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checkpoint-dir", required=True)
    parser.add_argument("--keys", type=int, required=True)
    parser.add_argument("--seconds", type=int, required=True)
    parser.add_argument("--ask", action="store_true", help="be the process that asks")
    return parser.parse_args()


def main() -> None:
    args = arguments()
    if args.ask:
        print(json.dumps(ask(args)))
        return
    job = start(args)
    try:
        asked = subprocess.run(
            [sys.executable, *sys.argv, "--ask"], stdout=subprocess.PIPE, check=True, text=True
        )
    finally:
        job.cancel()
    print(asked.stdout.splitlines()[-1])


if __name__ == "__main__":
    main()
