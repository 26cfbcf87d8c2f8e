"""Late records (Flink docs, "Windows", section Allowed Lateness)."""

from __future__ import annotations

from typing import Any

from millrace.common.functions.output_tag import OutputTag
from millrace.common.types.batch import RowBatch
from millrace.runtime.metrics import RegisteredGroup
from millrace.runtime.operator import Operator


class LateRecords:
    """Sends late records to a side output, or drops and counts them."""

    def __init__(self, operator: Operator) -> None:
        self._operator = operator
        metrics = RegisteredGroup(operator.context.metrics)
        self._dropped = metrics.counter("numLateRecordsDropped")

    def take(
        self,
        tag: OutputTag[Any] | None,
        late: list[int],
        values: list[Any],
        timestamps: list[int],
    ) -> None:
        """Process the late records of a batch at the positions ``late``. Without a tag they are
        dropped."""
        if tag is None:
            self._dropped.inc(len(late))
            return
        side = self._operator.side_output(tag)
        side.emit(RowBatch([values[i] for i in late], [timestamps[i] for i in late]))
