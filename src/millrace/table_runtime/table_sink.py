"""`TableSinkOperator`: writes columns to a sink under the column names of the table."""

from __future__ import annotations

import secrets
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from millrace.common.sink import Sink
from millrace.common.types.batch import BatchForm, ColumnBatch
from millrace.common.types.row import RowKind
from millrace.runtime.operators.sink import SinkOperator
from millrace.state.columns.fingerprints import fingerprints
from millrace.state.columns.key_columns import first_rows
from millrace.table_runtime.sink_constraints import SinkConstraints

__all__ = ["TableSinkOperator", "by_key"]

_SEEDS = (secrets.randbits(64), secrets.randbits(64))
"""Nobody can make keys collide on purpose."""


class TableSinkOperator(SinkOperator):
    """Renames the query's columns, such as ``EXPR$0``, to the table's columns for files and
    messages.

    Args:
        names: names of the columns, in order.
        constraints: constraints on the rows. None if there are none.
        keys: positions of the primary key, if the sink writes by key and takes no -U rows. Empty
            for other sinks.
    """

    def __init__(
        self,
        sink: Sink[Any],
        names: tuple[str, ...],
        constraints: SinkConstraints | None = None,
        keys: tuple[int, ...] = (),
    ) -> None:
        super().__init__(sink)
        self._names = names
        self._constraints = constraints
        self._keys = keys
        self._by_row = sink.takes is BatchForm.ROWS
        self.takes = BatchForm.COLUMNS

    def process_columns(self, number: int, batch: ColumnBatch) -> None:
        if self._constraints is not None:
            batch = self._constraints.enforced(batch)
        if self._keys and batch.row_kinds is not None:
            batch = by_key(batch, self._keys)
        named = replace(batch, data=batch.data.rename_columns(list(self._names)))
        if not self._by_row:
            super().process_columns(number, named)
            return
        rows = named.to_rows()
        self.process(rows.values, rows.timestamps)


def by_key(batch: ColumnBatch, keys: tuple[int, ...]) -> ColumnBatch:
    """The changes without -U rows. A -U row that no row of its key follows becomes a deletion,
    because a filter has left out the row after the update.
    """
    kinds = np.asarray(batch.row_kinds)
    before = kinds == RowKind.UPDATE_BEFORE.value
    if not before.any():
        return batch
    columns = [batch.data.column(index) for index in keys]
    _, groups = first_rows(fingerprints(columns, kinds.size, _SEEDS))
    last = np.full(int(groups.max()) + 1, -1)
    others = np.flatnonzero(~before)
    np.maximum.at(last, groups[others], others)
    replaced = before & (last.take(groups) > np.arange(kinds.size))
    kinds = np.where(before, RowKind.DELETE.value, kinds).astype(np.int8)
    return replace(batch, row_kinds=pa.array(kinds)).filter(pa.array(~replaced))
