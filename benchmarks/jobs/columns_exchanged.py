"""A keyed exchange of columns: a source of record batches, ``key_by`` on a column, and nothing.

    python columns_exchanged.py EPOCHS TARGETS... --checkpoint-dir DIR

Each number of targets is a job of its own, one after the other in one Spark application; all its
epochs read the same number of rows. The batches (an int64 key, a float64, a short text) are made
before the clock starts, which is when the first epochs are over. Prints one JSON line: per number
of targets the rows, the seconds, and the processor time of all processes.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
from cpu_seconds import cpu_seconds
from workload import PARALLELISM

from millrace.common import Configuration, WatermarkStrategy
from millrace.common.source import (
    ReaderContext,
    SourceSplit,
    SplitEnumerator,
    SplitReader,
    SplitSource,
    StaticEnumerator,
)
from millrace.common.types.batch import ColumnBatch
from millrace.datastream import StreamExecutionEnvironment

BATCH = 65_536
KEYS = 1_000_000
ROWS = 2_000_000
"""Rows of a split in an epoch."""
WARM_UP = 3
"""Epochs before the clock starts."""


class BatchSource(SplitSource[Any]):
    """Gives the same record batch again and again, of as many rows as there are to be."""

    def __init__(self, rows: int) -> None:
        self.rows = rows

    def create_enumerator(self) -> SplitEnumerator:
        return StaticEnumerator([SourceSplit(str(n)) for n in range(PARALLELISM)])

    def create_split_reader(
        self, split: SourceSplit, position: Any, context: ReaderContext
    ) -> SplitReader[Any]:
        return BatchReader(self.rows // PARALLELISM, position or 0)


class BatchReader(SplitReader[Any]):
    """Its position is the number of rows given."""

    def __init__(self, rows: int, position: int) -> None:
        self._rows = rows
        self._position = position
        keys = np.random.default_rng(position).integers(0, KEYS, BATCH)
        words = pa.array([f"item-{n:04d}" for n in range(1000)])
        self._batch = pa.record_batch(
            {"key": keys, "value": keys * 0.5, "word": words.take(pa.array(keys % 1000))}
        )

    def read(self, max_records: int) -> ColumnBatch:
        count = min(max_records, BATCH, self._rows - self._position)
        self._position += count
        return ColumnBatch(self._batch.slice(0, count))

    def position(self) -> int:
        return self._position

    def finished(self) -> bool:
        return self._position >= self._rows


def environment(checkpoint_dir: str) -> StreamExecutionEnvironment:
    """One whose epochs all read the same number of rows."""
    config = Configuration()
    config.set_string("execution.checkpointing.dir", checkpoint_dir)
    config.set_string("execution.checkpointing.interval", "0 ms")
    config.set_string("millrace.epoch.initial-records-per-split", str(ROWS))
    config.set_string("millrace.epoch.max-records-per-split", str(ROWS))
    config.set_string("millrace.epoch.target-duration", "1 h")
    env = StreamExecutionEnvironment.get_execution_environment(config)
    return env.set_parallelism(PARALLELISM)


def run(epochs: int, targets: int, checkpoint_dir: str) -> dict[str, Any]:
    env = environment(checkpoint_dir)
    source = BatchSource((WARM_UP + epochs) * ROWS * PARALLELISM)
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "Batches")
    stream.key_by("key").map_batches(lambda batch: None).set_parallelism(targets).print()
    marks: list[tuple[float, Counter[str]]] = []
    env.launcher.listeners.append(
        lambda progress: marks.append((time.perf_counter(), cpu_seconds()))
    )
    env.execute()
    (start, before), (end, after) = marks[WARM_UP - 1], marks[-1]
    rows = (len(marks) - WARM_UP) * ROWS * PARALLELISM
    return {"rows": rows, "seconds": round(end - start, 3), "cpu": dict(after - before)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("epochs", type=int)
    parser.add_argument("targets", type=int, nargs="+")
    parser.add_argument("--checkpoint-dir", required=True)
    args = parser.parse_args()
    runs = {
        targets: run(args.epochs, targets, f"{args.checkpoint_dir}/{targets}")
        for targets in args.targets
    }
    print(json.dumps(runs))


if __name__ == "__main__":
    main()
