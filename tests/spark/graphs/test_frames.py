"""DataFrames of graphs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from millrace.common.errors import JobExecutionError, UserFunctionError
from millrace.spark.graphs.frames import collected, counted, frame_of, mapped

pytestmark = pytest.mark.spark


def test_a_shuffle_has_a_partition_per_core(spark: Any) -> None:
    """Millrace's application has no adaptive execution, and a graph may have three vertices."""
    frame = frame_of(pa.table({"id": [1, 2, 2]})).distinct()
    cores = spark.sparkContext.defaultParallelism
    assert frame.rdd.getNumPartitions() == cores
    assert counted(frame) == 2


def test_batches_are_cast_to_the_types_of_spark(spark: Any) -> None:
    def lengths(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield pa.RecordBatch.from_arrays([pa.array([batch.num_rows], pa.int64())], ["n"])

    schema = pa.schema([("n", pa.int32())])
    frame = mapped(frame_of(pa.table({"id": [1, 2]})).coalesce(1), lengths, schema)
    assert collected(frame) == pa.table({"n": pa.array([2], pa.int32())})


def test_an_error_of_a_function_comes_back(spark: Any) -> None:
    def fail(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        next(batches)
        raise UserFunctionError("map_vertices", "Vertex(id=1, value='a')", "Traceback\n  line 3\nX")

    frame = mapped(frame_of(pa.table({"id": [1]})), fail, pa.schema([("id", pa.int64())]))
    with pytest.raises(UserFunctionError) as failed:
        collected(frame)
    assert failed.value.operator == "map_vertices"
    assert failed.value.record == "Vertex(id=1, value='a')"
    assert failed.value.user_traceback == "Traceback\n  line 3\nX"


def test_other_errors_of_spark_are_told(spark: Any) -> None:
    frame = frame_of(pa.table({"id": [1]})).selectExpr("raise_error('no such vertex') AS id")
    with pytest.raises(JobExecutionError, match="^no such vertex$"):
        counted(frame.where("id = 'x'"))
