"""`DataStreamScanOperator`: the records of a stream as columns of a table.

Flink: ``DataStreamScan``; Flink docs, "DataStream API Integration".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pyarrow as pa

from millrace.common.errors import JobExecutionError
from millrace.common.types.batch import Batch, ColumnBatch
from millrace.common.types.logical.arrow_type import arrow_type
from millrace.common.types.logical.logical_type import RowType
from millrace.runtime.operators.timestamps import TimestampsOperator
from millrace.table_runtime.columns import ColumnConversion
from millrace.table_runtime.table_source import strategy_of_watermarks, watermark_times

__all__ = ["DataStreamScanOperator"]

Evaluate = Callable[[Any], Any]
"""Computes a column of a record batch."""


class DataStreamScanOperator(TimestampsOperator):
    """Converts the records of a stream to columns with exactly the types of a table.

    Args:
        row_type: row type of the columns.
        table: names of all columns that records have.
        rowtime: names of the columns that are the records' event times.
        watermark: function that gives each row's watermark (a TIMESTAMP(3) or TIMESTAMP_LTZ(3)).
            None if the stream's own watermarks are the table's.
        inserts_only: whether the query is made for a stream without updates and deletes.
    """

    def __init__(
        self,
        row_type: RowType,
        table: tuple[str, ...],
        rowtime: tuple[str, ...] = (),
        watermark: Evaluate | None = None,
        inserts_only: bool = True,
    ) -> None:
        super().__init__(strategy_of_watermarks(watermark is not None, None))
        self._row_type, self._rowtime = row_type, rowtime
        self._names = table
        self._watermark_of, self._inserts_only = watermark, inserts_only

    def open(self) -> None:
        super().open()
        physical = tuple(
            field for field in self._row_type.fields if field.name not in self._rowtime
        )
        self._convert = ColumnConversion(RowType(physical), self._names)

    def process_watermark(self, timestamp: int) -> None:
        if self._watermark_of is None:
            self._advance(timestamp)
        else:
            super().process_watermark(timestamp)

    def _take(self, batch: Batch) -> None:
        if not len(batch):
            return
        columns = self._with_rowtime(self._convert(batch))
        if self._inserts_only and columns.has_changes():
            raise JobExecutionError(
                "the stream has rows that update or delete others: take from_changelog_stream(), "
                "not from_data_stream()"
            )
        if self._watermark_of is None:
            self.output.emit(replace(columns, timestamps=None))
            return
        times = watermark_times(self._watermark_of(columns.data))
        for piece in self._tracker.pieces(replace(columns, timestamps=times), self._now):
            assert isinstance(piece, ColumnBatch)
            if len(piece):
                self.output.emit(replace(piece, timestamps=None))
            self._advance(self._tracker.watermark)

    def _with_rowtime(self, batch: ColumnBatch) -> ColumnBatch:
        """The batch with added columns of the records' event times."""
        if not self._rowtime:
            return batch
        if batch.timestamps is None:
            raise JobExecutionError(
                "the records have no event times, but the table has a column of event times: "
                "call assign_timestamps_and_watermarks() of the stream"
            )
        physical = iter(batch.data.columns)
        columns, fields = [], []
        for field in self._row_type.fields:
            kind = arrow_type(field.type)
            timed = field.name in self._rowtime
            columns.append(batch.timestamps.cast(kind) if timed else next(physical))
            fields.append(pa.field(field.name, kind))
        data = pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields))
        return replace(batch, data=data)
