"""A keyed job with the same number of records in every epoch; tells how each epoch went.

    python steady.py --checkpoint-dir DIR --epochs N [--records R] [--keys K] [--load]
                     [--master URL] [--memory-every M] [--parallelism P] [--cores C]

Each record appends to a list and replaces a tuple in its key's state. With ``--load`` the state of
all keys is made first. Checkpoints every epoch, durably. Prints one JSON line; of every epoch
after loading: ``epoch_ms`` as the job manager measures it (from the plan to the last answer),
``wall_ms`` from the end of the one before (checkpoint included).
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from typing import Any

from discarding_sink import DiscardingSink
from memory_sample import MemorySampler
from per_epoch_source import PerEpochSource

from millrace.common import Configuration, WatermarkStrategy
from millrace.datastream import (
    KeyedProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from millrace.datastream.state import ListStateDescriptor, ValueStateDescriptor
from millrace.engine.job_details import JobDetails

PRIME = 2_654_435_761
LIST_LIMIT = 4


class Remember(KeyedProcessFunction):
    """The last few values of a key, and a summary of all of them."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.last = runtime_context.get_list_state(ListStateDescriptor("last"))
        self.summary = runtime_context.get_state(ValueStateDescriptor("summary"))

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        last = self.last.get()
        if len(last) >= LIST_LIMIT:
            self.last.update([*last[1:], (value, "seen")])
        else:
            self.last.add((value, "seen"))
        count, total, _ = self.summary.value() or (0, 0, "")
        self.summary.update((count + 1, total + value, "summary"))
        yield ctx.get_current_key(), count + 1


class Epochs:
    """A listener that notes how each epoch after loading went."""

    def __init__(self, load: int, sampler: MemorySampler | None) -> None:
        self._load = load
        self._sampler = sampler
        self._last = time.perf_counter()
        self._cached: dict[str, int] = {}
        self.epoch_ms: list[float] = []
        self.wall_ms: list[float] = []
        self.loaded_at: float | None = None
        self.cached: dict[str, int] = {}

    def __call__(self, progress: JobDetails) -> None:
        now = time.perf_counter()
        if self.loaded_at is not None:
            self.epoch_ms.append(round(progress.epoch_ms, 2))
            self.wall_ms.append(round((now - self._last) * 1000, 2))
            self.cached = {k: n - self._cached.get(k, 0) for k, n in progress.cached.items()}
        elif progress.records >= self._load:
            self.loaded_at = now
            self._cached = dict(progress.cached)
        if self._sampler is not None:
            self._sampler.maybe(len(self.epoch_ms))
        self._last = time.perf_counter()


def environment(args: argparse.Namespace) -> StreamExecutionEnvironment:
    config = Configuration()
    config.set_string("execution.checkpointing.dir", args.checkpoint_dir)
    config.set_string("execution.checkpointing.interval", "0 ms")
    config.set_string("millrace.executor", "epochs")  # as in RESULTS.md
    if args.master is not None:
        config.set_string("spark.master", args.master)
        config.set_string("spark.cores.max", str(args.cores))
    env = StreamExecutionEnvironment.get_execution_environment(config)
    return env.set_parallelism(args.parallelism)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checkpoint-dir", required=True)
    parser.add_argument("--epochs", type=int, required=True)
    parser.add_argument("--parallelism", type=int, default=2)
    parser.add_argument("--cores", type=int, default=4, help="of a cluster, to be used")
    parser.add_argument("--records", type=int, help="per epoch; default: one per subtask")
    parser.add_argument("--keys", type=int, default=1000)
    parser.add_argument("--load", action="store_true")
    parser.add_argument("--master")
    parser.add_argument("--memory-every", type=int, default=0)
    args = parser.parse_args()
    args.records = args.records or args.parallelism
    return args


def main() -> None:
    args = arguments()
    keys, load = args.keys, args.keys if args.load else 0
    env = environment(args)
    source = PerEpochSource(load, args.records, args.epochs, args.parallelism)
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    keyed = numbers.key_by(lambda i: i * PRIME % keys)
    keyed.process(Remember()).sink_to(DiscardingSink())
    sampler = MemorySampler(args.memory_every) if args.memory_every else None
    epochs = Epochs(load, sampler)
    env.launcher.listeners.append(epochs)
    start = time.perf_counter()
    env.execute("steady")
    report: dict[str, Any] = {
        "keys": keys,
        "records": args.records,
        "load_seconds": round((epochs.loaded_at or start) - start, 2),
        "epoch_ms": epochs.epoch_ms,
        "wall_ms": epochs.wall_ms,
        "cached": epochs.cached,
        "memory": sampler.samples if sampler else [],
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main()
