"""Embedded functions with many addresses and a backlog, under load.

    python statefun_large.py --checkpoint-dir DIR --addresses A --backlog B --seconds S [--rate R]

All addresses get a state first. Messages of the backlog wait for slow functions, which take half a
second each and send them on. Then messages to random addresses come at the rate; each tells how
long after its time it was handled. A checkpoint each second. Prints one JSON line.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import sdk_functions
from statefun_jobs import PARALLELISM, DelaysSink, delays, embedded, environment

from millrace.common import WatermarkStrategy
from millrace.connectors import DataGeneratorSource, NumberSequenceSource, RateLimiterStrategy
from millrace.datastream import DataStream, StreamExecutionEnvironment
from millrace.datastream.functions import ProcessFunction
from millrace.engine.embedded_job_client import EmbeddedJobClient
from millrace.statefun.data_stream import routable_message
from millrace.statefun.types import LONG, typed

LOADING = 900.0
"""Seconds within which all addresses must have their state."""
IN_FLIGHT = 16_384
"""Most batches in flight per subtask. Sixteen times as many messages may wait."""


class Due(ProcessFunction):
    """Messages that say when they were due."""

    def process_element(self, value: int, ctx: Any) -> Iterable[Any]:
        yield routable_message("bench/probe", str(value), typed(LONG, ctx.timestamp()))


def loading(env: StreamExecutionEnvironment, addresses: int, backlog: int) -> DataStream[Any]:
    """Messages that make the states and the backlog."""
    source = NumberSequenceSource(0, addresses + backlog - 1, splits=PARALLELISM)
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "loading")
    slow = sdk_functions.ADDRESSES
    return numbers.map(
        lambda n: (
            routable_message("bench/probe", str(n), typed(LONG, 0))
            if n < addresses
            else routable_message("bench/slow", str(n % slow), typed(LONG, 0))
        )
    )


def paced(env: StreamExecutionEnvironment, addresses: int, rate: int) -> DataStream[Any]:
    """Messages at a rate."""
    source = DataGeneratorSource(
        lambda i: i * sdk_functions.PRIME % addresses,
        1 << 40,
        rate_limiter_strategy=RateLimiterStrategy.per_second(rate),
        splits=PARALLELISM,
        timestamped=True,
    )
    return env.from_source(source, WatermarkStrategy.no_watermarks(), "paced").process(Due())


def wait_until_loaded(client: EmbeddedJobClient, args: argparse.Namespace) -> None:
    limit = time.monotonic() + LOADING
    while client.progress().records < args.addresses + args.backlog + 3 * args.rate:
        if client.get_job_execution_result().done():
            client.result()
        if time.monotonic() > limit:
            raise SystemExit(f"the state was not made within {LOADING:.0f} s")
        time.sleep(0.1)
    time.sleep(5.0)  # what came meanwhile is handled, and a checkpoint has everything


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checkpoint-dir", type=Path, required=True)
    parser.add_argument("--addresses", type=int, required=True)
    parser.add_argument("--backlog", type=int, required=True)
    parser.add_argument("--seconds", type=int, required=True)
    parser.add_argument("--rate", type=int, default=1000)
    args = parser.parse_args()
    output = args.checkpoint_dir / "delays"
    output.mkdir()
    env = environment(args.checkpoint_dir / "checkpoints")
    load = loading(env, args.addresses, args.backlog)
    builder = embedded("large", load, paced(env, args.addresses, args.rate))
    egresses = builder.with_max_async_per_task(IN_FLIGHT).build(env)
    told = egresses.get_data_stream_for_egress_id(sdk_functions.DELAYS)
    told.sink_to(DelaysSink(output))
    client = env.build_client("large").start()
    wait_until_loaded(client, args)
    since, checkpoints = time.time(), client.progress().checkpoints.completed
    time.sleep(args.seconds)
    until, completed = time.time(), client.progress().checkpoints.completed
    client.cancel().result()
    report = {
        "delays_ms": delays(output, since, until),
        "checkpoints": completed - checkpoints,
        "seconds": until - since,
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main()
