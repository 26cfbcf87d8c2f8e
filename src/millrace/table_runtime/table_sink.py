"""`TableSinkOperator`: writes columns under the names that the table of a sink gives them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import pyarrow.compute as pc

from millrace.common.errors import JobExecutionError
from millrace.common.sink import Sink
from millrace.common.types.batch import BatchForm, ColumnBatch
from millrace.runtime.operators.sink import SinkOperator

__all__ = ["NotNullEnforcer", "TableSinkOperator"]


@dataclass(frozen=True, slots=True)
class NotNullEnforcer:
    """Keeps NULL out of columns that are NOT NULL in the table (``table.exec.sink.
    not-null-enforcer``; Flink docs, "Configuration").

    Attributes:
        columns: positions and names of the columns.
        table: its name, for errors.
        drops: whether rows with NULL are left out; else they fail the job.
    """

    columns: tuple[tuple[int, str], ...]
    table: str
    drops: bool

    def enforced(self, batch: ColumnBatch) -> ColumnBatch:
        """The batch without such rows.

        Raises:
            JobExecutionError: it has some, and they are not to be left out.
        """
        lacking = [each for each in self.columns if batch.data.column(each[0]).null_count]
        if not lacking:
            return batch
        if not self.drops:
            raise JobExecutionError(
                f"column {lacking[0][1]!r} of {self.table} is NOT NULL, and a row for it has NULL; "
                "filter such rows in the query, or leave them out with "
                "'table.exec.sink.not-null-enforcer' = 'DROP'"
            )
        whole = reduce(pc.and_, (batch.data.column(position).is_valid() for position, _ in lacking))
        kinds, times = batch.row_kinds, batch.timestamps
        return replace(
            batch,
            data=batch.data.filter(whole),
            row_kinds=None if kinds is None else kinds.filter(whole),
            timestamps=None if times is None else times.filter(whole),
        )


class TableSinkOperator(SinkOperator):
    """Columns have a query's names until here, such as ``EXPR$0``; files and messages get the
    table's.

    Args:
        names: of the columns, in their order.
        nulls: what to do with NULL in columns that have none; None: the rows have none.
    """

    def __init__(
        self, sink: Sink[Any], names: tuple[str, ...], nulls: NotNullEnforcer | None = None
    ) -> None:
        super().__init__(sink)
        self._names = names
        self._nulls = nulls
        self._by_row = sink.takes is BatchForm.ROWS
        self.takes = BatchForm.COLUMNS

    def process_columns(self, number: int, batch: ColumnBatch) -> None:
        if self._nulls is not None:
            batch = self._nulls.enforced(batch)
        named = replace(batch, data=batch.data.rename_columns(list(self._names)))
        if not self._by_row:
            super().process_columns(number, named)
            return
        rows = named.to_rows()
        self.process(rows.values, rows.timestamps)
