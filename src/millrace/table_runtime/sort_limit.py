"""`SortLimitOperator`: all rows in an order, or the first of them, at the end of the input.

Rows of the running epoch are kept as they come, rows of earlier epochs in a `RowLog`: a batch job
of one epoch is sorted without touching state. Flink: ``Sort``, ``SortLimit`` and ``Limit`` of batch
mode.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from millrace.common.types.batch import BatchForm, ColumnBatch
from millrace.common.types.logical.logical_type import RowType
from millrace.expressions.resolved import SortKey
from millrace.runtime.epoch import EpochContext
from millrace.state.table_id import TableId
from millrace.state.table_kinds import ROW_LOG
from millrace.table_runtime.columns import schema_of
from millrace.table_runtime.end_of_input import EndOfInput
from millrace.table_runtime.state_columns import logged_rows

if TYPE_CHECKING:
    from millrace.state.columns.row_log import RowLog

__all__ = ["SortLimitOperator", "sorted_rows"]

_SLACK = 4
"""Waiting rows are cut to the needed ones when there are this many times as many."""


class SortLimitOperator(EndOfInput):
    """Keeps rows until the input ends.

    Args:
        row_type: columns of the rows.
        keys: columns to order by. Empty if rows keep the order of arrival.
        offset: number of rows to skip.
        fetch: number of rows to emit after these. None for all.
    """

    takes = BatchForm.COLUMNS

    def __init__(
        self, row_type: RowType, keys: tuple[SortKey, ...], offset: int, fetch: int | None
    ) -> None:
        self._row_type, self._keys = row_type, keys
        self._offset, self._fetch = offset, fetch
        self._most = None if fetch is None else offset + fetch
        """Number of rows that may be needed. None for all."""

    def open(self) -> None:
        context = self.context
        self._log: RowLog = context.state.table(TableId(context.uid, "@rows"), ROW_LOG)
        self._log.bind(logged_rows(self._row_type, ()))
        self._schema = schema_of(self._row_type)
        self._batches: list[Any] = []
        self._waiting = 0

    def begin_epoch(self, epoch: EpochContext) -> None:
        self._batches, self._waiting = [], 0

    def process_columns(self, number: int, batch: ColumnBatch) -> None:
        import pyarrow as pa

        # operators know columns by position: those of a union have the names of their inputs
        data = pa.RecordBatch.from_arrays(batch.data.columns, schema=self._schema)
        self._batches.append(data)
        self._waiting += data.num_rows
        if self._most is not None and self._waiting > _SLACK * max(self._most, len(batch)):
            self._batches = [self._first(pa.concat_batches(self._batches))]
            self._waiting = self._batches[0].num_rows

    def end_epoch(self, ended: bool) -> None:
        import pyarrow as pa

        if not self._batches:
            return
        data, self._batches = self._first(pa.concat_batches(self._batches)), []
        self._keep(data)
        if self._most is not None and self._log.live_rows().size > _SLACK * self._most:
            self._keep(self._first(self._taken()))

    def end_input(self) -> None:
        import pyarrow as pa

        data = pa.concat_batches([self._taken(), *self._batches])
        self._batches = []
        data = sorted_rows(data, self._keys).slice(self._offset, self._fetch)
        if data.num_rows:
            self.output.emit(ColumnBatch(data, None, None, "row"))

    def _first(self, data: Any) -> Any:
        """The rows of this batch that may be part of the result."""
        if self._most is None:
            return data
        return sorted_rows(data, self._keys).slice(0, self._most)

    def _keep(self, data: Any) -> None:
        self._log.append(self._log.slots_of([], True, data.num_rows), data)

    def _taken(self) -> Any:
        """Remove the rows of earlier epochs from the state, and return them in the order of
        arrival."""
        import numpy as np
        import pyarrow as pa

        rows = self._log.live_rows()
        rows = rows[np.argsort(self._log.sequence_at(rows))]
        columns = self._log.take(rows).columns
        self._log.remove(rows)
        cast = [one.cast(field.type) for one, field in zip(columns, self._schema, strict=True)]
        return pa.RecordBatch.from_arrays(cast, schema=self._schema)


def sorted_rows(data: Any, keys: tuple[SortKey, ...]) -> Any:
    """Rows sorted by the keys. Equal rows keep their order.

    Example:
        >>> import pyarrow as pa
        >>> rows = pa.record_batch({"x": [2, None, 1]})
        >>> sorted_rows(rows, (SortKey(0),)).to_pydict()
        {'x': [None, 1, 2]}
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    from millrace.table_runtime.ranking import orderable

    if not keys:
        return data
    columns, order = {}, []
    for number, key in enumerate(keys):
        column = data.column(key.index)
        columns[f"n{number}"] = column.is_null()
        columns[f"v{number}"] = orderable(column)
        # False before True: rows without a value come first if their mark sorts downwards
        order.append((f"n{number}", "descending" if key.nulls_first else "ascending"))
        order.append((f"v{number}", "ascending" if key.ascending else "descending"))
    return data.take(pc.sort_indices(pa.table(columns), sort_keys=order))
