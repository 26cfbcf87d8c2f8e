"""`TableSinkOperator`: writes columns to a sink under the column names of the table."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from millrace.common.sink import Sink
from millrace.common.types.batch import BatchForm, ColumnBatch
from millrace.runtime.operators.sink import SinkOperator
from millrace.table_runtime.sink_constraints import SinkConstraints

__all__ = ["TableSinkOperator"]


class TableSinkOperator(SinkOperator):
    """Renames the query's columns, such as ``EXPR$0``, to the table's columns for files and
    messages.

    Args:
        names: names of the columns, in order.
        constraints: constraints on the rows. None if there are none.
    """

    def __init__(
        self, sink: Sink[Any], names: tuple[str, ...], constraints: SinkConstraints | None = None
    ) -> None:
        super().__init__(sink)
        self._names = names
        self._constraints = constraints
        self._by_row = sink.takes is BatchForm.ROWS
        self.takes = BatchForm.COLUMNS

    def process_columns(self, number: int, batch: ColumnBatch) -> None:
        if self._constraints is not None:
            batch = self._constraints.enforced(batch)
        named = replace(batch, data=batch.data.rename_columns(list(self._names)))
        if not self._by_row:
            super().process_columns(number, named)
            return
        rows = named.to_rows()
        self.process(rows.values, rows.timestamps)
