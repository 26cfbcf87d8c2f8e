"""Sources of rows with a time, for tests of process table functions."""

from __future__ import annotations

import pyarrow as pa

from millrace.table_runtime.record_batch_source import RecordBatchSource


def _rows(names: list[str], numbers: list[int], minutes: list[int]) -> RecordBatchSource:
    schema = pa.schema([("name", pa.string()), ("n", pa.int32()), ("at_minute", pa.int32())])
    return RecordBatchSource(pa.RecordBatch.from_arrays([names, numbers, minutes], schema=schema))


def source() -> RecordBatchSource:
    return _rows(["a", "b", "a", "a"], [1, 2, 3, 4], [0, 0, 1, 30])


def mixed() -> RecordBatchSource:
    return _rows(["a"] * 4, [4, 2, 3, 1], [3, 2, 2, 1])
