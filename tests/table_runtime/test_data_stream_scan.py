"""Records of a stream as columns: which watermarks go on, and what they are after a restore."""

from __future__ import annotations

from functools import partial
from typing import Any

import pyarrow as pa
import pytest
from tests.table_runtime.subtask import Subtask

from millrace.common.errors import JobExecutionError
from millrace.common.types.batch import ColumnBatch
from millrace.common.types.logical.logical_type import (
    BigIntType,
    LocalZonedTimestampType,
    RowType,
)
from millrace.runtime.buffer import MAX_WATERMARK
from millrace.table_runtime.data_stream_scan import DataStreamScanOperator

COLUMNS = RowType.of(("n", BigIntType()), ("at", LocalZonedTimestampType(3)))


def records(*times: int, timed: bool = True) -> ColumnBatch:
    data = pa.RecordBatch.from_pydict({"n": pa.array(times, pa.int64())})
    return ColumnBatch(data, pa.array(times, pa.int64()) if timed else None, None, "row")


def ten_late(data: pa.RecordBatch) -> Any:
    return pa.compute.subtract(data.column(0), 10).cast(pa.timestamp("ms", "UTC"))


def test_event_times_are_a_column_and_the_streams_watermarks_go_on() -> None:
    subtask = Subtask(partial(DataStreamScanOperator, COLUMNS, ("n",), ("at",)))
    found = subtask.epoch([records(100, 300)], watermark=90)
    assert [(n, at.timestamp() * 1000) for _, (n, at) in found] == [(100, 100), (300, 300)]
    subtask.epoch([records(200)], watermark=80)
    subtask.epoch([], watermark=MAX_WATERMARK)
    assert subtask.output.watermarks == [90, MAX_WATERMARK]


def test_a_watermark_of_the_columns_takes_the_place_of_the_streams() -> None:
    subtask = Subtask(partial(DataStreamScanOperator, COLUMNS, ("n",), ("at",), ten_late))
    subtask.epoch([records(100, 300), records(200)], watermark=1_000)
    assert subtask.output.watermarks == [290]
    subtask.epoch([records(500)], abort=True)
    subtask.epoch([records(250)])
    assert subtask.output.watermarks == []
    subtask.epoch([records(301)])
    subtask.epoch([], watermark=MAX_WATERMARK)
    assert subtask.output.watermarks == [291, MAX_WATERMARK]


def test_records_without_event_times() -> None:
    subtask = Subtask(partial(DataStreamScanOperator, COLUMNS, ("n",), ("at",)))
    with pytest.raises(JobExecutionError, match="assign_timestamps_and_watermarks"):
        subtask.epoch([records(100, timed=False)])


def test_changes_are_refused_where_the_query_was_made_for_inserts() -> None:
    data = pa.RecordBatch.from_pydict({"n": pa.array([1, 2], pa.int64())})
    inserts = ColumnBatch(data, None, pa.array([0, 0], pa.int8()), "row")
    changes = ColumnBatch(data, None, pa.array([0, 3], pa.int8()), "row")
    numbers = RowType.of(("n", BigIntType()))
    subtask = Subtask(partial(DataStreamScanOperator, numbers, ("n",)))
    assert len(subtask.epoch([inserts])) == 2
    with pytest.raises(JobExecutionError, match="from_changelog_stream"):
        subtask.epoch([changes])
    taking = Subtask(partial(DataStreamScanOperator, numbers, ("n",), inserts_only=False))
    assert len(taking.epoch([changes])) == 2
