"""A keyed job under load that is rescaled, or of which a savepoint is made, while it runs.

    python operated.py --checkpoint-dir DIR --keys K --epochs N --records R
                       [--rescale AT:P,AT:P] [--savepoint AT,AT] [--executor NAME]

The state of all keys is made first; each record then replaces its key's count. What the job gave
is read back from its files: every count of every key must be there once. Prints one JSON line:
``wall_ms`` from epoch end to epoch end (checkpoint included) after loading, ``acts`` with the
number of the epoch after which each was asked for and how long it took to be answered.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from per_epoch_source import PerEpochSource
from steady import PRIME

from millrace.common import Configuration, WatermarkStrategy
from millrace.common.serialization import Encoder
from millrace.common.types.typeinfo import Types
from millrace.connectors.file_sink import FileSink
from millrace.datastream import (
    KeyedProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from millrace.datastream.state import ValueStateDescriptor
from millrace.engine.embedded_job_client import EmbeddedJobClient
from millrace.engine.job_details import JobDetails
from millrace.state.checkpoint.delta_file import DeltaLoader
from millrace.state.checkpoint.snapshot import open_snapshot
from millrace.state.key_groups import KeyMemo, key_group_range
from millrace.state.store import SubtaskState
from millrace.state.table_id import TableId

PARALLELISM = 2
PAUSE_MS = 50
"""Milliseconds between two shares of the load on resident tasks."""


class Counting(KeyedProcessFunction):
    """How many records a key has had."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield f"{ctx.get_current_key()} {count}"


class Operator:
    """A listener that asks for things at their time and notes how each epoch went."""

    def __init__(self, load: int, rescale: dict[int, int], savepoints: set[int]) -> None:
        self._load = load
        self._rescale = rescale
        self._savepoints = savepoints
        self._last = time.perf_counter()
        self._loaded = False
        self.client: EmbeddedJobClient | None = None
        self.directory = ""
        self.wall_ms: list[float] = []
        self.acts: list[dict[str, Any]] = []

    def __call__(self, progress: JobDetails) -> None:
        now = time.perf_counter()
        if self._loaded:
            self.wall_ms.append(round((now - self._last) * 1000, 2))
            self._act(len(self.wall_ms))
        self._loaded = self._loaded or progress.records >= self._load
        self._last = time.perf_counter()

    def _act(self, epoch: int) -> None:
        assert self.client is not None
        future: Any = None
        if epoch in self._rescale:
            future = self.client.rescale(self._rescale[epoch])
        elif epoch in self._savepoints:
            future = self.client.trigger_savepoint(self.directory)
        if future is not None:
            act = {"epoch": epoch, "parallelism": self._rescale.get(epoch)}
            self.acts.append(act)
            asked = time.perf_counter()
            future.add_done_callback(
                lambda done: act.update(
                    seconds=round(time.perf_counter() - asked, 3),
                    answered=len(self.wall_ms),
                    error=str(done.exception() or ""),
                )
            )


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checkpoint-dir", required=True)
    parser.add_argument("--epochs", type=int, required=True)
    parser.add_argument("--records", type=int, required=True)
    parser.add_argument("--keys", type=int, required=True)
    parser.add_argument("--rescale", default="")
    parser.add_argument("--savepoint", default="")
    parser.add_argument("--executor", default="epochs")
    return parser.parse_args()


def is_data(table: TableId, kind: str) -> bool:
    """Whether a table is a state of the program."""
    return not table.internal


def restored(path: str) -> dict[str, Any]:
    """How long it takes to read a savepoint for one subtask more than wrote it, one after the
    other."""
    started = time.perf_counter()
    snapshot = open_snapshot(path)
    highest = snapshot.manifest.max_parallelism
    load, entries = DeltaLoader(snapshot.directory), 0
    for index in range(PARALLELISM + 1):
        groups = key_group_range(index, PARALLELISM + 1, highest)
        state = SubtaskState()
        ours = KeyMemo(highest, groups.__contains__).__getitem__
        for (stage, subtask), deltas in snapshot.deltas.by_subtask().items():
            width = snapshot.manifest.stages[stage]
            theirs = key_group_range(subtask, width, highest)
            if theirs.start < groups.stop and groups.start < theirs.stop:
                state.take(deltas, load, is_data, ours, groups=groups)
        entries += sum(table.entry_count() for table in state.tables.values())
    return {"seconds": round(time.perf_counter() - started, 3), "entries": entries}


def wrong_counts(output: Path, keys: int, total: int) -> int:
    """How many keys do not have exactly the counts that they should."""
    expected = Counter(i * PRIME % keys for i in range(total))
    found: dict[int, list[int]] = {}
    for part in output.rglob("part-*"):
        for line in part.read_text().splitlines():
            key, count = line.split()
            found.setdefault(int(key), []).append(int(count))
    right = sum(
        sorted(counts) == list(range(1, expected[key] + 1)) for key, counts in found.items()
    )
    return len(expected) - right + len(found.keys() - expected.keys())


def main() -> None:
    args = arguments()
    directory = Path(args.checkpoint_dir)
    rescale = {int(at): int(p) for at, _, p in (x.partition(":") for x in args.rescale.split(","))
               if at}  # fmt: skip
    savepoints = {int(at) for at in args.savepoint.split(",") if at}
    config = Configuration()
    config.set_string("execution.checkpointing.dir", str(directory / "checkpoints"))
    config.set_string("execution.checkpointing.interval", "0 ms")
    config.set_string("millrace.executor", args.executor)
    env = StreamExecutionEnvironment.get_execution_environment(config)
    env.set_parallelism(PARALLELISM)
    pause = PAUSE_MS if args.executor == "resident" else 0
    source = PerEpochSource(args.keys, args.records, args.epochs, PARALLELISM, pause)
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    keys = args.keys
    counts = numbers.key_by(lambda i: i * PRIME % keys).process(Counting())
    sink = FileSink.for_row_format(str(directory / "out"), Encoder.simple_string_encoder())
    counts.sink_to(sink.build())
    operator = Operator(args.keys, rescale, savepoints)
    operator.directory = str(directory / "savepoints")
    env.launcher.listeners.append(operator)
    client = env.build_client("operated")
    operator.client = client
    client.run()
    client.result()
    total = args.keys + args.records * args.epochs
    made = sorted((directory / "savepoints").glob("savepoint-*"))
    report = {
        "keys": keys,
        "records": args.records,
        "wall_ms": operator.wall_ms,
        "acts": operator.acts,
        "wrong": wrong_counts(directory / "out", keys, total),
        "savepoint_bytes": [
            sum(file.stat().st_size for file in path.rglob("*") if file.is_file()) for path in made
        ],
        "restored": [restored(str(path)) for path in made],
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main()
