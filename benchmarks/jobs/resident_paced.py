"""A job at a fixed rate on resident tasks; tells when its sink wrote each record.

    python resident_paced.py --checkpoint-dir DIR --seconds S [--rate R] [--commit-ms C]

Without ``--commit-ms`` the sink writes at once (at least once), with a checkpoint each second. With
it, an exactly-once file sink commits each C ms, and a reader sees a record once its file is there.
Prints one JSON line.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import time
from array import array
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from millrace.common import Configuration, Encoder, Types, WatermarkStrategy
from millrace.common.sink import Sink, SinkWriter, WriterContext
from millrace.common.types.batch import RowBatch
from millrace.connectors import DataGeneratorSource, RateLimiterStrategy
from millrace.datastream import (
    KeyedProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from millrace.datastream.connectors.file_system import BucketAssigner, FileSink, RollingPolicy
from millrace.datastream.state import ValueStateDescriptor

PARALLELISM = 2
KEYS = 1000


class CountAndPass(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield ctx.timestamp(), value, count


class DelayWriter(SinkWriter[Any]):
    """Notes the time from when a record was due until it is written; one file per epoch."""

    def __init__(self, directory: str, subtask: int) -> None:
        self._path = os.path.join(directory, f"delays-{subtask}")
        self._delays = array("d")

    def write(self, batch: RowBatch[Any]) -> None:
        now = time.time() * 1000
        self._delays.extend(now - due for due, _, _ in batch.values)

    def flush(self, end_of_input: bool) -> None:
        with open(self._path, "ab") as file:
            self._delays.tofile(file)
        self._delays = array("d")


class DelaySink(Sink[Any]):
    def __init__(self, directory: str) -> None:
        self._directory = directory

    def create_writer(self, context: WriterContext, state: Any) -> DelayWriter:
        return DelayWriter(self._directory, context.subtask_index)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checkpoint-dir", required=True)
    parser.add_argument("--seconds", type=int, required=True)
    parser.add_argument("--rate", type=int, default=1000)
    parser.add_argument("--warm-up", type=int, default=5, help="seconds that do not count")
    parser.add_argument("--commit-ms", type=int)
    parser.add_argument("--executor", default="resident")
    return parser.parse_args()


def stream_of(args: argparse.Namespace) -> tuple[StreamExecutionEnvironment, Any]:
    config = Configuration()
    config.set_string("execution.checkpointing.dir", os.path.join(args.checkpoint_dir, "c"))
    config.set_string("execution.checkpointing.interval", f"{args.commit_ms or 1000} ms")
    config.set_string("millrace.executor", args.executor)
    env = StreamExecutionEnvironment.get_execution_environment(config)
    env.set_parallelism(PARALLELISM)
    source = DataGeneratorSource(
        lambda i: i % KEYS,
        count=(args.seconds + args.warm_up) * args.rate,
        rate_limiter_strategy=RateLimiterStrategy.per_second(args.rate),
        splits=PARALLELISM,
        timestamped=True,
    )
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "paced")
    return env, stream.key_by(lambda value: value).process(CountAndPass())


class Watcher:
    """A reader in a process of its own, which takes each file as soon as it is committed."""

    def __init__(self, directory: Path) -> None:
        context = multiprocessing.get_context("fork")
        self._over = context.Event()
        self._delays, here = context.Pipe(duplex=False)
        self._process = context.Process(target=self._watch, args=(directory, here))
        self._process.start()

    def _watch(self, directory: Path, result: Connection) -> None:
        delays: list[float] = []
        while not self._over.wait(0.002):
            for entry in list(os.scandir(directory)):
                if not entry.name.startswith((".", "_")):
                    seen = time.time() * 1000
                    lines = Path(entry.path).read_text().splitlines()
                    delays += [seen - int(line) for line in lines]
                    os.unlink(entry.path)
        result.send(delays)

    def stop(self) -> list[float]:
        """Milliseconds from when each record was due until its file was seen."""
        self._over.set()
        delays: list[float] = self._delays.recv()
        self._process.join()
        return delays


def main() -> None:
    args = arguments()
    env, stream = stream_of(args)
    output = Path(args.checkpoint_dir) / "out"
    output.mkdir()
    if args.commit_ms is None:
        stream.sink_to(DelaySink(str(output)))
        env.execute("resident paced")
        delays: list[float] = []
        for path in sorted(output.iterdir()):
            values = array("d")
            values.frombytes(path.read_bytes())
            delays += list(values)[args.warm_up * args.rate // PARALLELISM :]
    else:
        lines = stream.map(lambda triple: str(triple[0]), Types.STRING())
        encoder = Encoder.simple_string_encoder()
        sink = FileSink.for_row_format(str(output), encoder)
        sink = sink.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
        sink = sink.with_rolling_policy(RollingPolicy.on_checkpoint_rolling_policy())
        lines.sink_to(sink.build())
        watcher = Watcher(output)
        env.execute("resident paced")
        delays = watcher.stop()[args.warm_up * args.rate :]
    print(json.dumps({"delays_ms": [round(ms, 2) for ms in delays]}))


if __name__ == "__main__":
    main()
