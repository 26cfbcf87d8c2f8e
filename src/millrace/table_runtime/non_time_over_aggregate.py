"""`NonTimeOverAggregateOperator`: OVER functions over a changelog, with an ORDER BY of any columns.

A row that is added or removed changes the results of later rows in the order. Each epoch emits the
net changes. Flink: ``NonTimeRangeUnboundedPrecedingFunction``,
``NonTimeRowsUnboundedPrecedingFunction``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from millrace.common.types.batch import BatchForm, ColumnBatch
from millrace.runtime.epoch import EpochContext
from millrace.runtime.operator import Operator
from millrace.state.columns.hash_index import Positions
from millrace.state.columns.row_log import RowLog
from millrace.state.columns.time_to_live import LAST_USED
from millrace.state.table_id import TableId
from millrace.state.table_kinds import ROW_LOG
from millrace.table_runtime.columns import same_rows, schema_of
from millrace.table_runtime.group_accumulators import signs_of
from millrace.table_runtime.over_values import OverSpec, over_values
from millrace.table_runtime.partition_rows import PartitionRows
from millrace.table_runtime.state_columns import logged_rows

__all__ = ["NonTimeOverAggregateOperator"]

_INSERT, _UPDATE_BEFORE, _UPDATE_AFTER, _DELETE = range(4)


@dataclass(frozen=True)
class _Given:
    """Numbers of rows in the log, and the function values that were emitted for them."""

    rows: Positions
    values: list[pa.Array]

    def places(self, others: Positions) -> Positions:
        """Positions of other rows among these rows. -1 if a row is not among them."""
        if not self.rows.size:
            return np.full(others.size, -1)
        nearest = np.minimum(np.searchsorted(self.rows, others), self.rows.size - 1)
        return np.where(self.rows.take(nearest) == others, nearest, -1)


class NonTimeOverAggregateOperator(Operator):
    """Keeps all rows, and emits new, changed and removed results at the end of each epoch.

    Args:
        spec: settings of the functions.
        emits_update_before: whether the consumer needs -U rows.
        state_ttl: ms without a write after which a row is forgotten, without a change in the
            result. 0 for never.
    """

    takes = BatchForm.COLUMNS

    def __init__(self, spec: OverSpec, emits_update_before: bool, state_ttl: int) -> None:
        self._spec, self._updates_before = spec, emits_update_before
        self._state_ttl = state_ttl

    def open(self) -> None:
        context, spec = self.context, self._spec
        self._log: RowLog = context.state.table(TableId(context.uid, "@rows"), ROW_LOG)
        self._log.bind(logged_rows(spec.input_type, spec.partition, [LAST_USED]))
        self._rows = PartitionRows(self._log, spec.partition, 0, self._state_ttl)
        self._schema = schema_of(spec.output_type)

    def begin_epoch(self, epoch: EpochContext) -> None:
        self._rows.begin_epoch(epoch.now)

    def process_columns(self, number: int, batch: ColumnBatch) -> None:
        if batch.data.num_rows:
            self._rows.change(batch.data, signs_of(batch.row_kinds))

    def flush(self) -> None:
        slots = self._rows.touched()
        if slots.size:
            self._emit_partitions(slots)
            self._rows.flushed()

    def end_epoch(self, ended: bool) -> None:
        slots = self._rows.touched()
        if slots.size:
            self._emit_partitions(slots)
        self._rows.end_epoch()

    def _emit_partitions(self, slots: Positions) -> None:
        """Emit the changes of partitions since the last flush."""
        old = self._given(*self._rows.former_rows_of(slots))
        rows, owners = self._rows.rows_of(slots)
        self._emit_changes(old, self._given(rows, owners))
        # a partition expires as a whole: what it gave must not change by that
        self._rows.renew(rows)

    def _given(self, rows: Positions, owners: Positions) -> _Given:
        """Rows with the function values of their frames."""
        if not rows.size:
            return _Given(rows, [])
        data = self._log.take(rows)
        order, values = over_values(self._spec, data, owners, self._log.sequence_at(rows))
        rows = rows.take(order)
        chosen = np.argsort(rows)
        types = self._schema.types[data.num_columns :]
        pairs = zip(values, types, strict=True)
        return _Given(rows.take(chosen), [one.take(pa.array(chosen)).cast(t) for one, t in pairs])

    def _emit_changes(self, old: _Given, new: _Given) -> None:
        before, after = new.places(old.rows), old.places(new.rows)
        both = np.flatnonzero(after >= 0)
        pairs = pa.array(after.take(both)), pa.array(both)
        same = np.ones(both.size, np.bool_)
        if both.size:
            same = same_rows(old.values, new.values, *pairs)
        changed = both[~same]
        gone, came = np.flatnonzero(before < 0), np.flatnonzero(after < 0)
        updated = after.take(changed) if self._updates_before else changed[:0]
        parts = [
            (old, gone, _DELETE),
            (old, updated, _UPDATE_BEFORE),
            (new, changed, _UPDATE_AFTER),
            (new, came, _INSERT),
        ]
        parts = [part for part in parts if part[1].size]
        if not parts:
            return
        rows = np.concatenate([of.rows.take(places) for of, places, _ in parts])
        values = [
            pa.concat_arrays([of.values[i].take(pa.array(places)) for of, places, _ in parts])
            for i in range(len(self._spec.calls))
        ]
        kinds = np.repeat([kind for *_, kind in parts], [places.size for _, places, _ in parts])
        columns = [*self._log.take(rows).columns, *values]
        result = pa.RecordBatch.from_arrays(columns, schema=self._schema)
        row_kinds = pa.array(kinds.astype(np.int8)) if kinds.any() else None
        self.output.emit(ColumnBatch(result, None, row_kinds, "row"))
