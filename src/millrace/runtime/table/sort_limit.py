"""`SortLimitOperator`: all rows in an order, or the first of them, once the input has ended.

Flink: ``Sort``, ``SortLimit`` and ``Limit`` of batch mode.
"""

from __future__ import annotations

from typing import Any

from millrace.common.types.batch import BatchForm, ColumnBatch
from millrace.expressions.resolved import SortKey
from millrace.runtime.operator import Operator

__all__ = ["SortLimitOperator", "sorted_rows"]


class SortLimitOperator(Operator):
    """Keeps rows until the input ends, which batch mode does within its one epoch.

    Args:
        keys: the columns to order by; none: rows as they come.
        offset: how many rows to leave out.
        fetch: how many rows to give then; None: all.
    """

    takes = BatchForm.COLUMNS

    def __init__(self, keys: tuple[SortKey, ...], offset: int, fetch: int | None) -> None:
        self._keys, self._offset, self._fetch = keys, offset, fetch

    def open(self) -> None:
        self._batches: list[Any] = []

    def begin_epoch(self, epoch: int, now: int) -> None:
        self._batches = []

    def process_columns(self, number: int, batch: ColumnBatch) -> None:
        # operators know columns by position: those of a union have the names of their inputs
        data = batch.data
        if self._batches and data.schema.names != self._batches[0].schema.names:
            data = data.rename_columns(self._batches[0].schema.names)
        self._batches.append(data)

    def end_epoch(self, ended: bool) -> None:
        if not ended or not self._batches:
            return
        import pyarrow as pa

        data = sorted_rows(pa.concat_batches(self._batches), self._keys)
        self._batches = []
        data = data.slice(self._offset, self._fetch)
        if data.num_rows:
            self.output.emit(ColumnBatch(data, None, None, "row"))


def sorted_rows(data: Any, keys: tuple[SortKey, ...]) -> Any:
    """The rows in the order of the keys; equal ones stay as they were.

    Example:
        >>> import pyarrow as pa
        >>> rows = pa.record_batch({"x": [2, None, 1]})
        >>> sorted_rows(rows, (SortKey(0),)).to_pydict()
        {'x': [None, 1, 2]}
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    from millrace.runtime.table.ranking import orderable

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
