"""`UnionOperator`: the rows of several inputs as one stream. Flink: ``Union``."""

from __future__ import annotations

from millrace.common.types.batch import BatchForm, ColumnBatch
from millrace.runtime.operator import Operator

__all__ = ["UnionOperator"]


class UnionOperator(Operator):
    """Hands on what it gets; watermarks of the inputs are brought together before it."""

    takes = BatchForm.COLUMNS

    def process_columns(self, number: int, batch: ColumnBatch) -> None:
        self.output.emit(batch)
