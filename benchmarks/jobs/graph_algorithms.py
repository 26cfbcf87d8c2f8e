"""Four algorithms on a graph in files: ours, GraphX (which GraphFrames calls), or igraph.

    python graph_algorithms.py DIRECTORY --side ours --parallelism 2

The directory has ``vertices.parquet`` and ``edges.parquet`` (`rmat.py`). Reports seconds of each
algorithm, a number that tells whether results are equal, and the greatest memory of all processes.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ALGORITHMS = ("page_rank", "components", "labels", "triangles")
ROUNDS = 20
LABEL_ROUNDS = 5
DAMPING = 0.85


class PeakMemory:
    """The greatest sum of the proportional memory of this process and all its descendants."""

    def __init__(self) -> None:
        self.bytes = 0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)
        self._thread.start()

    def end(self) -> int:
        self._ended.set()
        self._thread.join()
        return self.bytes

    def _sample(self) -> None:
        import psutil

        root = psutil.Process()
        while not self._ended.wait(0.25):
            self.bytes = max(self.bytes, sum(map(_memory, [root, *root.children(recursive=True)])))


def _memory(process: Any) -> int:
    """Proportional memory in bytes: pages that processes share count once in all."""
    try:
        text = Path(f"/proc/{process.pid}/smaps_rollup").read_text()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in text.splitlines() if line.startswith("Pss:"))


def session(parallelism: int, memory: str) -> Any:
    from pyspark.sql import SparkSession

    return (
        SparkSession.builder.master(f"local[{parallelism}]")
        .config("spark.driver.memory", memory)
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", parallelism)
        .getOrCreate()
    )


def ours(directory: Path, parallelism: int, memory: str) -> dict[str, Callable[[], float]]:
    from millrace.graph import Graph
    from millrace.graph.library import (
        ConnectedComponents,
        LabelPropagation,
        LocalClusteringCoefficient,
        PageRank,
    )

    spark = session(parallelism, memory)
    vertices = spark.read.parquet(str(directory / "vertices.parquet"))
    edges = spark.read.parquet(str(directory / "edges.parquet"))
    graph = Graph.from_vertices_and_edges(vertices, edges)

    def result(algorithm: Any, expression: str) -> float:
        rows = graph.run(algorithm)
        frame = rows.to_dataframe()
        value = float(frame.selectExpr(expression).collect()[0][0] or 0)
        rows.unpersist()
        return value

    return {
        "page_rank": lambda: result(
            PageRank(DAMPING, ROUNDS, include_zero_degree_vertices=True), "max(score)"
        ),
        "components": lambda: result(ConnectedComponents(1000), "count(DISTINCT value)"),
        "labels": lambda: result(
            LabelPropagation(LABEL_ROUNDS, undirected=True), "count(DISTINCT value)"
        ),
        "triangles": lambda: result(LocalClusteringCoefficient(), "sum(triangle_count) / 3"),
    }


def graphx(directory: Path, parallelism: int, memory: str) -> dict[str, Callable[[], float]]:
    """GraphX, of Spark's own jars, called by py4j. Each algorithm begins with a DataFrame of edges
    and ends with an aggregate of a DataFrame, as ours does."""
    from pyspark.sql import DataFrame

    spark = session(parallelism, memory)
    jvm: Any = spark.sparkContext._jvm
    graphs = jvm.org.apache.spark.graphx
    encoders = jvm.org.apache.spark.sql.Encoders
    level = jvm.org.apache.spark.storage.StorageLevel.MEMORY_AND_DISK()
    tag = _companion(jvm.scala.reflect, "ClassTag").Int()
    no_partitioning = jvm.scala.Option.empty()
    long = encoders.scalaLong()
    vertices = spark.read.parquet(str(directory / "vertices.parquet"))
    edges = spark.read.parquet(str(directory / "edges.parquet"))

    def result(run: Callable[[Any], Any], kind: Any, expression: str) -> float:
        ends = getattr(edges.toDF("_1", "_2")._jdf, "as")(encoders.tuple(long, long)).rdd()
        graph = _companion(graphs, "Graph").fromEdgeTuples(
            ends, 1, no_partitioning, level, level, tag
        )
        rows = spark._jsparkSession.createDataset(
            run(graph).vertices(), encoders.tuple(long, kind)
        ).toDF()
        value = float(DataFrame(rows, spark).selectExpr(expression).collect()[0][0] or 0)
        for kept in list(spark.sparkContext._jsc.getPersistentRDDs().values()):
            kept.unpersist(True)
        return value

    def program(name: str) -> Any:
        return _companion(graphs.lib, name)

    ends = edges.selectExpr("source AS id").union(edges.selectExpr("target AS id"))
    isolated = vertices.join(ends, "id", "left_anti").count()  # GraphX has the ends of edges only
    return {
        "page_rank": lambda: result(
            lambda graph: program("PageRank").run(graph, ROUNDS, 1 - DAMPING, tag, tag),
            encoders.scalaDouble(),
            "max(_2)",
        ),
        "components": lambda: result(
            lambda graph: program("ConnectedComponents").run(graph, tag, tag),
            long,
            f"count(DISTINCT _2) + {isolated}",
        ),
        "labels": lambda: result(
            lambda graph: program("LabelPropagation").run(graph, LABEL_ROUNDS, tag),
            long,
            f"count(DISTINCT _2) + {isolated}",
        ),
        "triangles": lambda: result(
            lambda graph: program("TriangleCount").run(graph, tag, tag),
            encoders.scalaInt(),
            "sum(_2) / 3",
        ),
    }


def _companion(package: Any, name: str) -> Any:
    """A companion object of Scala."""
    return getattr(getattr(package, f"{name}$"), "MODULE$")


def igraph(directory: Path, parallelism: int, memory: str) -> dict[str, Callable[[], float]]:
    """igraph, in C, on one core."""
    import igraph as ig
    import numpy as np
    import pyarrow.parquet as pq

    def graph() -> Any:
        table = pq.read_table(directory / "edges.parquet")
        ends = np.stack([table["source"].to_numpy(), table["target"].to_numpy()], axis=1)
        count = pq.read_metadata(directory / "vertices.parquet").num_rows
        return ig.Graph(n=count, edges=ends, directed=True)

    def triangles() -> float:
        """From the share of closed pairs of neighbours: a list of triangles would be too long."""
        simple = graph().as_undirected().simplify()
        degrees = np.array(simple.degree(), dtype=np.float64)
        return float(round(simple.transitivity_undirected() * (degrees * (degrees - 1) / 6).sum()))

    return {
        "page_rank": lambda: float(max(graph().pagerank(damping=DAMPING))),
        "components": lambda: float(len(graph().connected_components(mode="weak"))),
        "labels": lambda: float(len(graph().as_undirected().community_label_propagation())),
        "triangles": triangles,
    }


SIDES = {"ours": ours, "graphx": graphx, "igraph": igraph}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("directory", type=Path)
    parser.add_argument("--side", choices=SIDES, required=True)
    parser.add_argument("--only", help="one algorithm")
    parser.add_argument("--parallelism", type=int, default=2)
    parser.add_argument("--memory", default="2g", help="of the JVM")
    parser.add_argument("--runs", type=int, default=2, help="of each; the last one counts")
    args = parser.parse_args()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    seconds: dict[str, float] = {}
    results: dict[str, float] = {}
    failed: dict[str, str] = {}
    memory = PeakMemory()
    for name, run in SIDES[args.side](args.directory, args.parallelism, args.memory).items():
        if args.only not in (None, name):
            continue
        try:
            for _ in range(args.runs):
                started = time.perf_counter()
                results[name] = run()
                seconds[name] = time.perf_counter() - started
        except Exception as error:
            failed[name] = f"{type(error).__name__}: {str(error)[:200]}"
    peak = memory.end()
    print(json.dumps({"seconds": seconds, "results": results, "failed": failed, "memory": peak}))


if __name__ == "__main__":
    main()
