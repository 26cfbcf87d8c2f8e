"""`CalcOperator`: filters rows and computes columns of the rows that pass. Flink: ``Calc``."""

from __future__ import annotations

from millrace.common.types.batch import BatchForm, ColumnBatch
from millrace.common.types.logical.logical_type import RowType
from millrace.expressions.evaluation import CompiledCalc
from millrace.expressions.resolved import ResolvedExpression
from millrace.expressions.session_settings import SessionSettings
from millrace.runtime.metrics import RegisteredGroup
from millrace.runtime.operator import Operator
from millrace.table_runtime.columns import schema_of

__all__ = ["CalcOperator"]


class CalcOperator(Operator):
    """Filter and projection in one operator.

    Args:
        projections: expressions of the output columns, over rows of ``input_type``.
        condition: filter of the rows. None if all rows are kept.
        output_type: names and types of the output columns.
    """

    takes = BatchForm.COLUMNS

    def __init__(
        self,
        projections: tuple[ResolvedExpression, ...],
        condition: ResolvedExpression | None,
        input_type: RowType,
        output_type: RowType,
        session: SessionSettings,
    ) -> None:
        self._calc = CompiledCalc(projections, condition, input_type, session)
        self._schema = schema_of(output_type)
        self._now = 0

    def open(self) -> None:
        self._calc.open(RegisteredGroup(self.context.metrics))

    def advance_processing_time(self, now: int) -> None:
        self._now = now

    def process_columns(self, number: int, batch: ColumnBatch) -> None:
        import pyarrow as pa

        columns, rows = self._calc(batch.data, self._now, self.watermark)
        count = len(batch) if rows is None else len(rows)
        if not count:
            return
        kinds = batch.row_kinds
        if kinds is not None and rows is not None:
            kinds = kinds.take(pa.array(rows))
        if columns:
            data = pa.RecordBatch.from_arrays(columns, schema=self._schema)
        else:
            data = pa.RecordBatch.from_struct_array(pa.array([{}] * count, pa.struct([])))
        self.output.emit(ColumnBatch(data, None, kinds, "row"))
