"""A stream without event time. It does not hold back the watermark of streams that are joined with
it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from millrace.common.types.batch import BatchForm, ColumnBatch, RowBatch
from millrace.runtime.buffer import MAX_WATERMARK
from millrace.runtime.operator import Operator


class TimelessOperator(Operator):
    """Removes the event times of records. The operator is always idle, so that no other operator
    waits for its watermark.

    Only its end counts (see Flink docs, "Generating Watermarks", Dealing With Idle Sources).
    """

    takes = BatchForm.EITHER

    def output_idle(self, input_idle: bool) -> bool:
        return True

    def process(self, values: list[Any], timestamps: list[int] | None) -> None:
        self.output.emit(RowBatch(values))

    def process_columns(self, number: int, batch: ColumnBatch) -> None:
        self.output.emit(replace(batch, timestamps=None))

    def process_watermark(self, timestamp: int) -> None:
        if timestamp == MAX_WATERMARK:
            super().process_watermark(timestamp)
