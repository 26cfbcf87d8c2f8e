"""Operator inputs, which convert batches to the form that an operator takes.

This is the one place where rows become columns and columns rows. Which of the inputs it is is
decided when the chain is built.
"""

from __future__ import annotations

from millrace.common.types.batch import Batch, BatchForm, ColumnBatch, ImmutableRows, RowBatch
from millrace.runtime.operator import Operator


class OperatorInput:
    """One input of an operator."""

    def __init__(self, operator: Operator, number: int) -> None:
        self._operator = operator
        self._number = number
        self.records = 0
        """Records taken in this epoch."""

    def emit(self, batch: Batch) -> None:
        """Pass on a batch in the form that the operator takes."""
        raise NotImplementedError

    def emit_watermark(self, timestamp: int) -> None:
        """Pass on the watermark to the operator."""
        self._operator.process_watermark(timestamp)


class RowInput(OperatorInput):
    """Passes lists of records to the operator."""

    def emit(self, batch: Batch) -> None:
        """Pass on the batch, after a conversion of columns to records."""
        rows = batch if isinstance(batch, RowBatch) else batch.to_rows()
        self.records += len(rows.values)
        self._operator.immutable_input = isinstance(rows, ImmutableRows)
        self._operator.process_input(self._number, rows.values, rows.timestamps)


class ColumnInput(OperatorInput):
    """Passes columns to the operator."""

    def emit(self, batch: Batch) -> None:
        """Pass on the batch, after a conversion of records to columns. An empty list is dropped,
        because it has no columns."""
        if count := len(batch):
            self.records += count
            self._operator.process_columns(self._number, batch.to_columns())


class EitherInput(OperatorInput):
    """Passes both rows and columns to the operator, without a conversion."""

    def emit(self, batch: Batch) -> None:
        """Pass on the batch unchanged."""
        self.records += len(batch)
        if isinstance(batch, ColumnBatch):
            self._operator.process_columns(self._number, batch)
        else:
            self._operator.process_input(self._number, batch.values, batch.timestamps)


_INPUTS: dict[BatchForm, type[OperatorInput]] = {
    BatchForm.ROWS: RowInput,
    BatchForm.COLUMNS: ColumnInput,
    BatchForm.EITHER: EitherInput,
}


def operator_input(operator: Operator, number: int = 0) -> OperatorInput:
    """Input number ``number`` of an operator."""
    return _INPUTS[operator.takes](operator, number)
