"""`BatchOverAggregateOperator`: OVER functions of a bounded input, computed at its end.

Flink: ``BufferDataOverWindowOperator`` and its kin.
"""

from __future__ import annotations

import pyarrow as pa

from millrace.common.types.batch import BatchForm, ColumnBatch
from millrace.state.columns.row_log import RowLog
from millrace.state.table_id import TableId
from millrace.state.table_kinds import ROW_LOG
from millrace.table_runtime.columns import schema_of
from millrace.table_runtime.end_of_input import EndOfInput
from millrace.table_runtime.over_values import OverSpec, over_values
from millrace.table_runtime.state_columns import logged_rows

__all__ = ["BatchOverAggregateOperator"]


class BatchOverAggregateOperator(EndOfInput):
    """Emits each row with the values of its OVER functions, at the end of the input.

    Args:
        spec: settings of the functions.
    """

    takes = BatchForm.COLUMNS

    def __init__(self, spec: OverSpec) -> None:
        self._spec = spec

    def open(self) -> None:
        context = self.context
        self._log: RowLog = context.state.table(TableId(context.uid, "@rows"), ROW_LOG)
        self._log.bind(logged_rows(self._spec.input_type, self._spec.partition))
        self._schema = schema_of(self._spec.output_type)

    def process_columns(self, number: int, batch: ColumnBatch) -> None:
        data = batch.data
        if data.num_rows:
            keys = [data.column(index) for index in self._spec.partition]
            self._log.append(self._log.slots_of(keys, True, data.num_rows), data)

    def end_input(self) -> None:
        rows = self._log.live_rows()
        if not rows.size:
            return
        data, owners = self._log.take(rows), self._log.slots_at(rows)
        order, values = over_values(self._spec, data, owners, self._log.sequence_at(rows))
        columns = [*data.take(pa.array(order)).columns, *values]
        self._log.remove(rows)
        cast = [one.cast(field.type) for one, field in zip(columns, self._schema, strict=True)]
        result = pa.RecordBatch.from_arrays(cast, schema=self._schema)
        self.output.emit(ColumnBatch(result, None, None, "row"))
