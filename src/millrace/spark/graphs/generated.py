"""DataFrames whose rows are generated in Spark's tasks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import pyarrow as pa
from pyspark.sql import DataFrame

from millrace.spark.graphs.frames import graph_session, mapped

__all__ = ["generated", "numbers"]


def numbers(count: int, tasks: int | None) -> DataFrame:
    """The numbers from 0 to ``count - 1``, as ``id``.

    Args:
        tasks: number of partitions; None for one per core.
    """
    session = graph_session()
    return session.range(0, count, 1, tasks or max(session.sparkContext.defaultParallelism, 1))


def generated(
    blocks: int,
    tasks: int | None,
    batches: Callable[[Iterable[int]], Iterator[pa.RecordBatch]],
    schema: pa.Schema,
) -> DataFrame:
    """The rows that a function generates for each block number.

    Args:
        blocks: number of blocks.
        tasks: number of tasks among which blocks are divided; None for one per core.
        batches: function that makes the rows of some blocks, in a task.
    """

    def run(ranges: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for part in ranges:
            yield from batches(part.column(0).to_pylist())

    return mapped(numbers(blocks, tasks), run, schema)
