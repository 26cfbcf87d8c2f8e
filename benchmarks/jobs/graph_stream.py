"""A graph stream on resident tasks; tells how long it took, and when changes had their effect.

    python graph_stream.py --checkpoint-dir DIR --job components|mixed|paths --edges M

``components``: additions only, as fast as they go. ``mixed``: R-MAT edges of which a tenth is
removed again, drawn uniformly; as fast as they go. ``paths``: shortest paths in a graph of M edges,
then single changes, each of which changes a distance. Prints one JSON line.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from array import array
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millrace.common import Configuration, RowKind, Types, WatermarkStrategy
from millrace.common.sink import Sink, SinkWriter, WriterContext
from millrace.common.types.batch import Batch
from millrace.connectors import DataGeneratorSource, RateLimiterStrategy
from millrace.datastream import StreamExecutionEnvironment
from millrace.graph.streams import GraphStream, added, removed

PARALLELISM = 2
SCALE = 17
"""Binary digits of vertices: R-MAT reaches about 100,000 of 131,072."""
PROBE = 1 << 40
"""First of the vertices whose distances tell when a change had its effect."""
BLOCK = 1 << 16
PIECE = 1 << 10
"""Edges that are made together, as columns, when there are only additions."""

Edges = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]


_BLOCKS: dict[int, Edges] = {}


def rmat(block: int) -> Edges:
    """A block of R-MAT edges, the same in every process."""
    if block not in _BLOCKS:
        _BLOCKS[block] = _drawn(block)
    return _BLOCKS[block]


def _drawn(block: int) -> Edges:
    dice = np.random.default_rng(block)
    source, target = np.zeros(BLOCK, np.int64), np.zeros(BLOCK, np.int64)
    for _ in range(SCALE):
        drawn = dice.random(BLOCK)
        source = 2 * source + (drawn >= 0.76)
        target = 2 * target + (((drawn >= 0.57) & (drawn < 0.76)) | (drawn >= 0.95))
    return source, target


def edge(number: int) -> tuple[int, int]:
    source, target = rmat(number // BLOCK)
    return int(source[number % BLOCK]), int(target[number % BLOCK])


def edge_columns(numbers: pa.RecordBatch) -> pa.RecordBatch:
    """Edges of the pieces with these numbers."""
    pieces = [number * PIECE for number in numbers.column(0).to_pylist()]
    ends = [
        np.concatenate([rmat(at // BLOCK)[end][at % BLOCK : at % BLOCK + PIECE] for at in pieces])
        for end in range(2)
    ]
    return pa.RecordBatch.from_arrays([pa.array(end) for end in ends], ["source", "target"])


def mixed(number: int) -> Any:
    """Each tenth change removes one of the edges before it, any with the same probability."""
    if number % 10 != 9 or number < 100:
        return added(*edge(number))
    earlier = int(np.random.default_rng(number).integers(number))
    return removed(*edge(earlier - (earlier % 10 == 9)))


class TimesWriter(SinkWriter[Any]):
    """Counts rows, and notes when those of `PROBE` were made and how long they took, in ms."""

    def __init__(self, path: str, timed: bool) -> None:
        self._path, self._rows, self._timed = path, 0, timed
        self._delays = array("d")

    def write(self, batch: Batch) -> None:
        now = time.time()
        self._rows += len(batch)
        if not self._timed or len(batch) > 10_000:
            return  # large batches are about the graph itself
        for row in batch.to_rows().values:
            if row[0] >= PROBE and row.get_row_kind() is RowKind.INSERT:
                self._delays.extend((row[1], 1000 * (now - row[1])))

    def flush(self, end_of_input: bool) -> None:
        with open(self._path, "a") as file:
            file.write(json.dumps({"rows": self._rows, "delays": list(self._delays)}) + "\n")
        self._rows, self._delays = 0, array("d")


class TimesSink(Sink[Any]):
    def __init__(self, directory: str, timed: bool) -> None:
        self._directory, self._timed = directory, timed

    def create_writer(self, context: WriterContext, state: Any) -> TimesWriter:
        path = os.path.join(self._directory, f"rows-{context.subtask_index}")
        return TimesWriter(path, self._timed)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checkpoint-dir", required=True)
    parser.add_argument("--job", choices=("components", "mixed", "paths"), required=True)
    parser.add_argument("--edges", type=int, required=True)
    return parser.parse_args()


PROBES = 6000
PROBES_PER_SECOND = 100
TIMED = 1000
"""Last changes, which are timed: the whole graph is there by then."""


def path_edge(number: int) -> Any:
    return (*edge(number), 1.0)


def probe(number: int) -> Any:
    """An edge that brings a further vertex into reach. Its length is the time."""
    return (0, PROBE + number, time.time())


def source_of(args: argparse.Namespace) -> DataGeneratorSource[Any]:
    if args.job == "paths":
        return DataGeneratorSource(path_edge, count=args.edges, splits=1)
    if args.job == "components":
        return DataGeneratorSource(int, count=-(-args.edges // PIECE), splits=1)
    return DataGeneratorSource(mixed, count=args.edges, splits=1)


def start(args: argparse.Namespace, output: Path) -> float:
    """Run the job to its end; returns the seconds that it took."""
    config = Configuration()
    config.set_string("execution.checkpointing.dir", os.path.join(args.checkpoint_dir, "c"))
    config.set_string("execution.checkpointing.interval", "1 s")
    config.set_string("millrace.executor", "resident")
    env = StreamExecutionEnvironment.get_execution_environment(config)
    env.set_parallelism(PARALLELISM)
    changes = env.from_source(source_of(args), WatermarkStrategy.no_watermarks(), "changes")
    changes = changes.set_parallelism(1)
    if args.job == "components":
        changes = changes.map_batches(edge_columns).set_parallelism(1)
    if args.job == "paths":
        pace = RateLimiterStrategy.per_second(PROBES_PER_SECOND)
        probes = DataGeneratorSource(probe, count=PROBES, splits=1, rate_limiter_strategy=pace)
        later = env.from_source(probes, WatermarkStrategy.no_watermarks(), "probes")
        changes = changes.union(later.set_parallelism(1))
        graph = GraphStream(changes, value_type=Types.DOUBLE())
        results = graph.shortest_paths(0)
    else:
        results = GraphStream(changes).components()
    results.sink_to(TimesSink(str(output), args.job == "paths"))
    began = time.perf_counter()
    env.execute(f"graph stream: {args.job}")
    return time.perf_counter() - began


def main() -> None:
    args = arguments()
    output = Path(args.checkpoint_dir) / "out"
    output.mkdir()
    seconds = start(args, output)
    lines = [json.loads(line) for path in output.iterdir() for line in path.open()]
    times = [
        pair
        for line in lines
        for pair in zip(line["delays"][::2], line["delays"][1::2], strict=True)
    ]
    delays = [delay for _, delay in sorted(times)[-TIMED:]]
    rows = sum(line["rows"] for line in lines)
    print(json.dumps({"seconds": seconds, "edges": args.edges, "rows": rows, "delays": delays}))


if __name__ == "__main__":
    main()
