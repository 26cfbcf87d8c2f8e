"""A keyed exchange of columns: a source of record batches, ``key_by`` on a column, and nothing.

    python columns_exchanged.py ROWS TARGETS --checkpoint-dir DIR

The batches (an int64 key, a float64, a short text) are made before the clock starts. Prints one
JSON line; ``seconds`` is the time the job takes.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

import numpy as np
import pyarrow as pa
from workload import PARALLELISM, environment

from millrace.common import WatermarkStrategy
from millrace.common.source import (
    ReaderContext,
    SourceSplit,
    SplitEnumerator,
    SplitReader,
    SplitSource,
    StaticEnumerator,
)
from millrace.common.types.batch import ColumnBatch

BATCH = 65_536
KEYS = 1_000_000


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


def run(rows: int, targets: int, checkpoint_dir: str) -> float:
    env = environment(checkpoint_dir)
    stream = env.from_source(BatchSource(rows), WatermarkStrategy.no_watermarks(), "Batches")
    stream = stream.set_parallelism(PARALLELISM)
    stream.key_by("key").map_batches(lambda batch: None).set_parallelism(targets).print()
    start = time.perf_counter()
    env.execute()
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", type=int)
    parser.add_argument("targets", type=int)
    parser.add_argument("--checkpoint-dir", required=True)
    args = parser.parse_args()
    seconds = run(args.rows, args.targets, args.checkpoint_dir)
    print(json.dumps({"seconds": round(seconds, 3), "records": args.rows}))


if __name__ == "__main__":
    main()
