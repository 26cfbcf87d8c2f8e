"""A source of an Arrow table reads it in order, from any position."""

from __future__ import annotations

import pyarrow as pa
import pytest

from millrace.common.source import ReaderContext
from millrace.common.types.batch import ColumnBatch
from millrace.table_runtime.record_batch_source import RecordBatchSource


@pytest.mark.parametrize("splits", [1, 3, 20])
@pytest.mark.parametrize("size", [0, 1, 7])
def test_splits_have_each_row_once(size: int, splits: int) -> None:
    source = RecordBatchSource(pa.record_batch({"x": pa.array(range(size))}), splits=splits)
    read = []
    for split in source.create_enumerator().discover(now=0):
        reader = source.create_split_reader(split, None, ReaderContext(0, 1, lambda: 0))
        while True:
            batch = reader.read(2)
            assert isinstance(batch, ColumnBatch)
            read += batch.data.column(0).to_pylist()
            if reader.finished():
                break
            reader = source.create_split_reader(  # as after a restart
                split, reader.position(), ReaderContext(0, 1, lambda: 0)
            )
    assert read == list(range(size))
