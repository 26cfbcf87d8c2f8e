"""A job with a large state: every key is set once, and later found as it was.

    python large_state.py --keys N --checkpoint-dir DIR [--resume] [--backend rocksdb]

Each of two readers goes twice through its half of the keys: the first time state must be empty and
is set to about 100 bytes, the second time it must be exactly that. Whatever is lost or doubled by a
kill and a restore makes the job fail. After each epoch a line of JSON tells how far it is and what
the Python workers' memory has been at most.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from discarding_sink import DiscardingSink
from memory_sample import python_workers

from millrace.common import Configuration, Types, WatermarkStrategy
from millrace.connectors import NumberSequenceSource
from millrace.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from millrace.datastream.job_launcher import JobLauncher
from millrace.datastream.state import ValueStateDescriptor

READERS = 2
PAYLOAD = "x" * 40


def payload_of(key: int) -> tuple[int, str, float]:
    return key, f"{key:012d}{PAYLOAD}", key / 7


class SetThenFind(KeyedProcessFunction):
    """The records are (key, whether it is its second time)."""

    def open(self, runtime_context: RuntimeContext) -> None:
        row = Types.TUPLE([Types.LONG(), Types.STRING(), Types.DOUBLE()])
        self.state = runtime_context.get_state(ValueStateDescriptor("payload", row))

    def process_element(self, value: tuple[int, bool], ctx: Any) -> Iterator[int]:
        key, again = value
        found = self.state.value()
        if found != (payload_of(key) if again else None):
            raise ValueError(
                f"key {key}: found {found!r} the {'second' if again else 'first'} time"
            )
        if again:
            yield key
        else:
            self.state.update(payload_of(key))


def stream(env: StreamExecutionEnvironment, keys: int) -> Any:
    half = keys // READERS

    def visit(number: int) -> tuple[int, bool]:
        reader, place = divmod(number, 2 * half)
        return reader * half + place % half, place >= half

    source = NumberSequenceSource(0, 2 * READERS * half - 1, splits=READERS)
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    visits = numbers.map(visit)
    return visits.key_by(lambda visit: visit[0]).process(SetThenFind()).uid("state")


def peaks() -> list[int]:
    """The most memory that each Python worker has held so far, bytes."""
    found = []
    for pid in python_workers(os.getpid()):
        try:
            lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        except OSError:
            continue
        found += [int(line.split()[1]) << 10 for line in lines if line.startswith("VmHWM")]
    return found


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keys", type=int, required=True)
    parser.add_argument("--checkpoint-dir", required=True)
    parser.add_argument("--backend", default="rocksdb")
    parser.add_argument("--local-dir", required=True)
    parser.add_argument("--from-local", action="store_true")
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--epoch-records", type=int, default=150_000)
    return parser.parse_args()


def main() -> None:
    started = time.time()
    args = arguments()
    JobLauncher.install(JobLauncher(resume=args.resume))
    options = {
        "execution.checkpointing.dir": args.checkpoint_dir,
        "execution.checkpointing.interval": "0 ms",
        "state.backend.type": args.backend,
        "state.backend.rocksdb.localdir": args.local_dir,
        "execution.state-recovery.from-local": str(args.from_local).lower(),
        "millrace.epoch.max-records-per-split": str(args.epoch_records),
    }
    env = StreamExecutionEnvironment.get_execution_environment(Configuration(options))
    env.set_parallelism(READERS)
    stream(env, args.keys).sink_to(DiscardingSink())

    def tell(progress: Any) -> None:
        seconds = time.time() - started
        report = {"epoch": progress.epoch, "records": progress.records, "seconds": seconds}
        print(json.dumps({**report, "peaks": peaks()}), flush=True)

    env.launcher.listeners.append(tell)
    env.execute("large state")
    print(json.dumps({"finished": True}), flush=True)


if __name__ == "__main__":
    main()
