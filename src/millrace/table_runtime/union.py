"""`UnionOperator`: the rows of several inputs as one stream. Flink: ``Union``."""

from __future__ import annotations

from millrace.common.types.batch import BatchForm, ColumnBatch
from millrace.runtime.operator import Operator

__all__ = ["UnionOperator"]


class UnionOperator(Operator):
    """Passes on its input. The watermarks of the inputs are combined before this operator."""

    takes = BatchForm.COLUMNS

    def process_columns(self, number: int, batch: ColumnBatch) -> None:
        self.output.emit(batch)
