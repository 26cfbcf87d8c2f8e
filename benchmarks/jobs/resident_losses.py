"""A keyed job at a fixed rate over a large state, which loses its processes.

    python resident_losses.py --checkpoint-dir DIR --keys K [--rate R] [--executor NAME]
        --kill worker|executor --kills N [--between S] [--master URL --cores C]
    python resident_losses.py --checkpoint-dir DIR --keys K --endless [--resume]

The state of all keys is made first; then records come at the rate. The sink writes the time of each
batch at once, to a file per subtask and process. Kills strike the process of a subtask, or the
executor above it. A kill's line of JSON: ``back``, seconds until both subtasks write again;
``registered``, seconds until Spark had another executor; ``survived``, whether the process of the
other subtask stayed. With ``--endless`` it prints ``{"loaded": true}`` and runs until it is killed.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import time
from array import array
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import psutil
from pyspark import SparkContext

from millrace.common import Configuration, Types, WatermarkStrategy
from millrace.common.sink import Sink, SinkWriter, WriterContext
from millrace.common.types.batch import RowBatch
from millrace.connectors import DataGeneratorSource, NumberSequenceSource, RateLimiterStrategy
from millrace.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from millrace.datastream.job_launcher import JobLauncher
from millrace.datastream.state import ValueStateDescriptor
from millrace.engine.embedded_job_client import EmbeddedJobClient

PARALLELISM = 2
PRIME = 2_654_435_761
LOADING = 600.0
"""Seconds within which the state must be there."""
PATIENCE = 60.0


class Count(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[int]:
        self.count.update((self.count.value() or 0) + 1)
        yield value


class TimesWriter(SinkWriter[Any]):
    """Writes the time of each batch at once."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("ab", buffering=0)

    def write(self, batch: RowBatch[Any]) -> None:
        self._file.write(array("d", [time.time()]).tobytes())

    def close(self) -> None:
        self._file.close()


class TimesSink(Sink[Any]):
    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def create_writer(self, context: WriterContext, state: Any) -> TimesWriter:
        return TimesWriter(self._directory / f"times-{context.subtask_index}-{os.getpid()}")


class Written:
    """What the sink has written so far."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def process(self, subtask: int) -> int:
        """Process that a subtask ran in last."""
        paths = self._directory.glob(f"times-{subtask}-*")
        newest = max(paths, key=lambda path: path.stat().st_mtime)
        return int(newest.name.rpartition("-")[2])

    def back(self, killed: float) -> float:
        """Seconds from a kill until all subtasks write again: each has its longest pause then."""
        return max(self._end_of_pause(subtask, killed) for subtask in range(PARALLELISM)) - killed

    def _end_of_pause(self, subtask: int, killed: float) -> float:
        times = array("d")
        for path in self._directory.glob(f"times-{subtask}-*"):
            written = path.read_bytes()
            times.frombytes(written[: len(written) // 8 * 8])
        ordered = [killed, *sorted(at for at in times if at > killed)]
        pairs = pairwise(ordered)
        return max(pairs, key=lambda pair: pair[1] - pair[0], default=(killed, float("inf")))[1]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checkpoint-dir", required=True)
    parser.add_argument("--keys", type=int, required=True)
    parser.add_argument("--rate", type=int, default=1000)
    parser.add_argument("--executor", default="resident")
    parser.add_argument("--kill", choices=["worker", "executor"])
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--between", type=float, default=10.0, help="seconds after each kill")
    parser.add_argument("--master")
    parser.add_argument("--cores", type=int, default=PARALLELISM)
    parser.add_argument("--endless", action="store_true")
    parser.add_argument("--resume", action="store_true")
    return parser.parse_args()


def client_of(args: argparse.Namespace, output: Path) -> EmbeddedJobClient:
    options = {
        "execution.checkpointing.dir": f"{args.checkpoint_dir}/checkpoints",
        "execution.checkpointing.interval": "1 s",
        "millrace.executor": args.executor,
    }
    if args.master is not None:
        options |= {"spark.master": args.master, "spark.cores.max": str(args.cores)}
    env = StreamExecutionEnvironment.get_execution_environment(Configuration(options))
    env.set_parallelism(PARALLELISM)
    keys, none = args.keys, WatermarkStrategy.no_watermarks()
    load = NumberSequenceSource(0, keys - 1, splits=PARALLELISM)
    paced = DataGeneratorSource(
        lambda i: i * PRIME % keys, 1 << 40,
        rate_limiter_strategy=RateLimiterStrategy.per_second(args.rate), splits=PARALLELISM,
    )  # fmt: skip
    numbers = env.from_source(load, none, "load").union(env.from_source(paced, none, "paced"))
    numbers.key_by(lambda key: key).process(Count()).uid("count").sink_to(TimesSink(output))
    return env.build_client("losses")


def wait_until_loaded(client: EmbeddedJobClient, args: argparse.Namespace) -> None:
    limit = time.monotonic() + LOADING
    while client.progress().records < args.keys + 3 * args.rate:
        if client.get_job_execution_result().done():
            client.result()
        if time.monotonic() > limit:
            raise SystemExit(f"the state was not made within {LOADING:.0f} s")
        time.sleep(0.1)
    time.sleep(3.0)  # a checkpoint has everything


def executors() -> int:
    """Number of executors that Spark has, and the driver."""
    context = SparkContext._active_spark_context
    assert context is not None
    return int(context._jsc.sc().getExecutorMemoryStatus().size())


def time_of_replacement(before: int, killed: float) -> float:
    """Seconds from a kill until Spark has as many executors as before."""
    limit, fewer = time.time() + PATIENCE, False
    while time.time() < limit:
        count = executors()
        fewer = fewer or count < before
        if fewer and count >= before:
            return time.time() - killed
        time.sleep(0.02)
    raise SystemExit(f"Spark had no other executor within {PATIENCE:.0f} s")


def kill_once(args: argparse.Namespace, written: Written, number: int) -> dict[str, Any]:
    """Kill the process of a subtask, or its executor."""
    process = psutil.Process(written.process(number % PARALLELISM))
    other = written.process((number + 1) % PARALLELISM)
    report: dict[str, Any] = {}
    before = executors()
    if args.kill == "executor":
        process = next(above for above in process.parents() if above.name() == "java")
    killed = time.time()
    process.send_signal(signal.SIGKILL)
    if args.kill == "executor":
        report["registered"] = round(time_of_replacement(before, killed), 3)
    time.sleep(args.between)
    survived = written.process((number + 1) % PARALLELISM) == other
    return {**report, "back": round(written.back(killed), 3), "survived": survived}


def main() -> None:
    args = arguments()
    JobLauncher.install(JobLauncher(resume=args.resume))
    output = Path(args.checkpoint_dir) / "times"
    output.mkdir(exist_ok=True)
    client = client_of(args, output).start()
    wait_until_loaded(client, args)
    if args.endless:
        print(json.dumps({"loaded": True}), flush=True)
        client.result()
    written = Written(output)
    kills = []
    for number in range(args.kills):
        kills.append(kill_once(args, written, number))
        print(kills[-1], file=sys.stderr, flush=True)
    client.stop()
    while not client.get_job_execution_result().done():
        time.sleep(0.1)
    progress = client.progress()
    print(json.dumps({"kills": kills, "restarts": progress.restarts, "keys": args.keys}))


if __name__ == "__main__":
    main()
