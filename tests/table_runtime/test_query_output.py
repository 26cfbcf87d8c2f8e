"""Event times from the values of a column."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from millrace.common.types.batch import ColumnBatch
from millrace.runtime.operators.timestamps import NO_TIMESTAMP
from millrace.table_runtime.query_output import EventTimeColumn, with_query_output
from millrace.table_runtime.union import UnionOperator


class Emitted:
    """An output that keeps its batches."""

    def __init__(self) -> None:
        self.batches: list[Any] = []
        self.watermarks: list[int] = []

    def emit(self, batch: Any) -> None:
        self.batches.append(batch)

    def emit_watermark(self, timestamp: int) -> None:
        self.watermarks.append(timestamp)


@pytest.mark.parametrize("zone", [None, "UTC"])
@pytest.mark.parametrize(
    ("unit", "values", "times"),
    [
        ("ms", [1500, None, -1], [1500, NO_TIMESTAMP, -1]),
        ("us", [1_500_999, -1, -1_000], [1500, -1, -1]),
        ("s", [2, -2, 0], [2000, -2000, 0]),
    ],
)
def test_times_are_whole_milliseconds(
    zone: str | None, unit: str, values: list[int | None], times: list[int]
) -> None:
    """A time before 1970 belongs to the millisecond before it, and NULL to none."""
    target = Emitted()
    operator = with_query_output(UnionOperator, None, EventTimeColumn(1, in_row=False))()
    assert operator.output_wrapper is not None
    output = operator.output_wrapper(target)
    data = pa.record_batch({"n": [1, 2, 3], "t": pa.array(values, pa.timestamp(unit, zone))})
    output.emit(ColumnBatch(data, row_kinds=pa.array([0, 1, 2], pa.int8()), form="row"))
    output.emit_watermark(7)
    [batch] = target.batches
    assert batch.timestamps.to_pylist() == times
    assert batch.data.schema.names == ["n"]
    assert batch.row_kinds.to_pylist() == [0, 1, 2]
    assert target.watermarks == [7]
