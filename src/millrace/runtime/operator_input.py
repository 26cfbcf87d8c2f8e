"""Operator inputs: they give an operator its batches in the form that it takes.

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
        """Taken in this epoch."""

    def emit(self, batch: Batch) -> None:
        """Hand on a batch in the form that the operator takes."""
        raise NotImplementedError

    def emit_watermark(self, timestamp: int) -> None:
        """Hand the watermark to the operator."""
        self._operator.process_watermark(timestamp)


class RowInput(OperatorInput):
    """Gives the operator lists of records."""

    def emit(self, batch: Batch) -> None:
        """Hand on the batch, a columnar one as records."""
        rows = batch if isinstance(batch, RowBatch) else batch.to_rows()
        self.records += len(rows.values)
        self._operator.immutable_input = isinstance(rows, ImmutableRows)
        self._operator.process_input(self._number, rows.values, rows.timestamps)


class ColumnInput(OperatorInput):
    """Gives the operator columns."""

    def emit(self, batch: Batch) -> None:
        """Hand on the batch, records as columns; an empty list has none, and is dropped."""
        if count := len(batch):
            self.records += count
            self._operator.process_columns(self._number, batch.to_columns())


class EitherInput(OperatorInput):
    """Gives the operator batches in the form that they come in."""

    def emit(self, batch: Batch) -> None:
        """Hand on the batch as it is."""
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
    """The input of an operator with that number."""
    return _INPUTS[operator.takes](operator, number)
