"""Structured Streaming's side of the benchmark: one workload, one size per process.

    python structured_streaming_peer.py WORKLOAD N [--batch ROWS] [--sink noop|check]

Writes the keyed running count of ``benchmarks/workloads.md`` the way a PySpark user writes it
today: ``transformWithState`` with a ``StatefulProcessor`` over rows and RocksDB state. The input
is Parquet, written before the clock starts, ``--batch`` rows to a micro-batch. Prints one JSON
line; ``seconds`` runs from ``start()`` to the end of the query.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.functions import col, lit, pmod
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.streaming.query import StreamingQuery

PARALLELISM = 2
PRIME = 2_654_435_761
COUNT_KEYS = 100_000
STATE_STORE = "spark.sql.streaming.stateStore"


# --- the environment -------------------------------------------------------------------------


def session() -> SparkSession:
    return (
        SparkSession.builder.master(f"local[{PARALLELISM}]")
        .config("spark.driver.memory", "4g")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", PARALLELISM)
        .config("spark.sql.streaming.noDataMicroBatches.enabled", "false")
        .config(
            f"{STATE_STORE}.providerClass",
            "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
        )
        .config(f"{STATE_STORE}.rocksdb.changelogCheckpointing.enabled", "true")
        .config(f"{STATE_STORE}.rocksdb.trackTotalNumberOfRows", "false")
        .getOrCreate()
    )


def write_input(spark: SparkSession, directory: Path, n: int, batch: int) -> None:
    """Two files to a micro-batch, in order of their names and modification times."""
    for number, start in enumerate(range(0, n, batch)):
        rows = spark.range(start, min(start + batch, n), numPartitions=PARALLELISM)
        rows.write.mode("append").parquet(str(directory / f"batch={number:05d}"))


def numbers(spark: SparkSession, directory: Path) -> DataFrame:
    return (
        spark.readStream.schema("id LONG")
        .option("maxFilesPerTrigger", PARALLELISM)
        .parquet(f"{directory}/*")
        .select(pmod(col("id") * lit(PRIME), lit(COUNT_KEYS)).alias("key"), "id")
    )


# --- (a) keyed running count -----------------------------------------------------------------


class CountPerKey(StatefulProcessor):
    def init(self, handle: StatefulProcessorHandle) -> None:
        self.count = handle.getValueState("count", "count LONG")

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        stored = self.count.get()
        count = 0 if stored is None else stored[0]
        for _ in rows:
            count += 1
            yield Row(key=key[0], count=count)
        self.count.update((count,))

    def close(self) -> None:
        pass


def keyed_count(rows: DataFrame) -> DataFrame:
    return rows.groupBy("key").transformWithState(
        statefulProcessor=CountPerKey(),
        outputStructType="key LONG, count LONG",
        outputMode="Update",
        timeMode="None",
    )


def expected_keyed_count(n: int) -> Counter[Any]:
    totals = Counter(i * PRIME % COUNT_KEYS for i in range(n))
    return Counter((key, seen + 1) for key, total in totals.items() for seen in range(total))


# --- running ---------------------------------------------------------------------------------


def run(output: DataFrame, sink: str, checkpoint: Path) -> tuple[float, StreamingQuery]:
    writer = output.writeStream.outputMode("update").format("memory" if sink == "check" else "noop")
    writer = writer.queryName("results").option("checkpointLocation", str(checkpoint))
    start = time.perf_counter()
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    return time.perf_counter() - start, query


def check(spark: SparkSession, expected: Counter[Any]) -> int:
    seen = Counter((row.key, row["count"]) for row in spark.table("results").collect())
    if seen != expected:
        missing, extra = list((expected - seen).items()), list((seen - expected).items())
        raise SystemExit(f"wrong results: missing {missing[:5]}, not expected {extra[:5]}")
    return sum(seen.values())


def batch_seconds(query: StreamingQuery) -> list[float]:
    return [progress["durationMs"]["triggerExecution"] / 1000 for progress in query.recentProgress]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("workload", choices=("keyed_count",))
    parser.add_argument("n", type=int)
    parser.add_argument("--batch", type=int, default=100_000)
    parser.add_argument("--sink", choices=("noop", "check"), default="noop")
    return parser.parse_args()


def main() -> None:
    args = arguments()
    os.environ["PYSPARK_PYTHON"] = sys.executable
    spark = session()
    spark.sparkContext.setLogLevel("ERROR")
    with tempfile.TemporaryDirectory(prefix="millrace-bench-") as name:
        scratch = Path(name)
        write_input(spark, scratch / "input", args.n, args.batch)
        output = keyed_count(numbers(spark, scratch / "input"))
        seconds, query = run(output, args.sink, scratch / "checkpoint")
        report: dict[str, Any] = {
            "workload": args.workload,
            "mode": "transformWithState",
            "n": args.n,
            "batch": args.batch,
            "seconds": round(seconds, 3),
            "batch_seconds": batch_seconds(query),
            "records": args.n,
        }
        if args.sink == "check":
            report["checked"] = check(spark, expected_keyed_count(args.n))
        spark.stop()
    print(json.dumps(report))


if __name__ == "__main__":
    main()
