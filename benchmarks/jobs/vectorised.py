"""A chain of three vectorised functions over Parquet: through ``map_batches``, or as plain Spark
with ``mapInArrow``.

    python vectorised.py millrace|spark|fused ROWS --checkpoint-dir DIR

The input is written before the clock starts. Prints one JSON line; ``seconds`` is the time that the
job or query takes.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from discarding_sink import DiscardingSink
from workload import PARALLELISM, environment

from millrace.common import WatermarkStrategy
from millrace.connectors.file_source import FileSource
from millrace.formats.parquet import ParquetColumnarRowInputFormat

GROUP = 500_000
Batch = pa.RecordBatch


def scale(batch: Batch) -> Batch:
    return batch.append_column("c", pc.add(pc.multiply(batch["a"], 3), 1))


def select(batch: Batch) -> Batch:
    tens = pc.multiply(pc.divide(batch["c"], 10), 10)
    return batch.filter(pc.not_equal(batch["c"], tens))


def root(batch: Batch) -> Batch:
    return batch.append_column("d", pc.sqrt(pc.add(batch["b"], batch["c"])))


STEPS: list[Callable[[Batch], Batch]] = [scale, select, root]


def write_input(directory: Path, rows: int) -> None:
    """One file per subtask, in row groups."""
    share = rows // PARALLELISM
    for part in range(PARALLELISM):
        with pq.ParquetWriter(
            directory / f"part-{part}.parquet",
            pa.schema([("a", pa.int64()), ("b", pa.float64())]),
            compression="none",
        ) as writer:
            for start in range(0, share, GROUP):
                a = pa.array(range(start, min(start + GROUP, share)), pa.int64())
                writer.write_table(pa.table({"a": a, "b": pc.multiply(a, 0.5)}))


def with_millrace(directory: Path, checkpoint_dir: str) -> float:
    env = environment(checkpoint_dir)
    parquet = ParquetColumnarRowInputFormat(record_type=dict, columnar=True)
    source = FileSource.for_bulk_file_format(parquet, str(directory)).build()
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "Parquet")
    for step in STEPS:
        stream = stream.map_batches(step)
    stream.sink_to(DiscardingSink())
    start = time.perf_counter()
    env.execute()
    return time.perf_counter() - start


def over(step: Callable[[Batch], Batch]) -> Callable[[Iterator[Batch]], Iterator[Batch]]:
    def run(batches: Iterator[Batch]) -> Iterator[Batch]:
        for batch in batches:
            yield step(batch)

    return run


def with_spark(directory: Path, fused: bool) -> float:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable

    spark = (
        SparkSession.builder.master(f"local[{PARALLELISM}]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "1g")
        .config("spark.python.unix.domain.socket.enabled", "true")
        .getOrCreate()
    )
    frame = spark.read.parquet(str(directory))
    schemas = ["a long, b double, c long"] * 2 + ["a long, b double, c long, d double"]
    if fused:
        frame = frame.mapInArrow(over(lambda batch: root(select(scale(batch)))), schemas[-1])
    else:
        for step, schema in zip(STEPS, schemas, strict=True):
            frame = frame.mapInArrow(over(step), schema)
    start = time.perf_counter()
    frame.write.format("noop").mode("overwrite").save()
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("side", choices=("millrace", "spark", "fused"))
    parser.add_argument("rows", type=int)
    parser.add_argument("--checkpoint-dir", required=True)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        write_input(Path(scratch), args.rows)
        ours = args.side == "millrace"
        seconds = (
            with_millrace(Path(scratch), args.checkpoint_dir)
            if ours
            else with_spark(Path(scratch), args.side == "fused")
        )
    print(json.dumps({"seconds": round(seconds, 3), "records": args.rows}))


if __name__ == "__main__":
    main()
