"""`ChangelogNormalizeOperator`: turns an upsert changelog into the net changes of rows.

An upsert source emits +U without the former row, and -D with the key alone. The last row of each
key is kept in a `RowLog`. The row at the last flush comes from the log's undo information, which it
keeps for an abort. Flink: ``ChangelogNormalize``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millrace.common.types.batch import BatchForm, ColumnBatch
from millrace.common.types.logical.logical_type import RowType
from millrace.runtime.epoch import EpochContext
from millrace.runtime.operator import Operator
from millrace.state.columns.hash_index import Positions
from millrace.state.columns.row_log import RowLog
from millrace.state.columns.time_to_live import LAST_USED, TimeToLive
from millrace.state.table_id import TableId
from millrace.state.table_kinds import ROW_LOG
from millrace.table_runtime.columns import schema_of
from millrace.table_runtime.group_accumulators import signs_of
from millrace.table_runtime.ranking import equal_pairs
from millrace.table_runtime.state_columns import logged_rows
from millrace.table_runtime.unseen_keys import after_last_addition, divided

__all__ = ["ChangelogNormalizeOperator", "ChangelogNormalizeSpec"]

_INSERT, _UPDATE_BEFORE, _UPDATE_AFTER, _DELETE = range(4)
_LAST_USED = 0
"""Numbers per row: the time of its last write."""


@dataclass(frozen=True)
class ChangelogNormalizeSpec:
    """Settings of a changelog normalization.

    Attributes:
        row_type: columns of the rows.
        keys: positions of the primary key.
        emits_update_before: whether the consumer needs -U rows.
        state_ttl: ms without a write after which the row of a key is forgotten, without a change
            in the result. 0 for never.
        repeatable: whether the changes must also correct what a lost epoch, which may have flushed
            at other places, has written into a table.
    """

    row_type: RowType
    keys: tuple[int, ...]
    emits_update_before: bool = True
    state_ttl: int = 0
    repeatable: bool = False


class ChangelogNormalizeOperator(Operator):
    """Keeps the last row of each key, and emits the net change of each key since the last flush.

    A deletion of an unknown key emits nothing. Nor does a row that is written again unchanged,
    unless state expires or changes are repeatable: then the row is emitted, to renew the state
    downstream, or to replace what a lost epoch has written.

    Args:
        spec: settings of the normalization.
    """

    takes = BatchForm.COLUMNS

    def __init__(self, spec: ChangelogNormalizeSpec) -> None:
        self._spec = spec

    def open(self) -> None:
        context = self.context
        self._log: RowLog = context.state.table(TableId(context.uid, "@rows"), ROW_LOG)
        self._log.bind(logged_rows(self._spec.row_type, self._spec.keys, [LAST_USED]))
        self._life = TimeToLive(self._log, _LAST_USED, self._spec.state_ttl)
        self._schema = schema_of(self._spec.row_type)
        self._touched: list[Positions] = []

    def begin_epoch(self, epoch: EpochContext) -> None:
        self._touched = []

    def advance_processing_time(self, now: int) -> None:
        self._life.begin_epoch(now)

    def process_columns(self, number: int, batch: ColumnBatch) -> None:
        data = batch.data
        if not data.num_rows:
            return
        signs = signs_of(batch.row_kinds)
        keys = [data.column(index) for index in self._spec.keys]
        slots = self._log.slots_of(keys, create=True, count=data.num_rows)
        if signs is not None and self._spec.repeatable:
            later = self._last_deletions(slots, signs)
            if later.any():
                before, (data, slots, signs) = divided((data, slots, signs), later)
                self._change(*before)
                self.flush()
        self._change(data, slots, signs)

    def _last_deletions(
        self, slots: Positions, signs: npt.NDArray[np.int8]
    ) -> npt.NDArray[np.bool_]:
        """Flags of the last deletions of keys that have come since the last flush and that would go
        unseen (see `unseen_keys`)."""
        touched, last = np.unique(slots[::-1], return_index=True)
        gone = touched[signs.take(slots.size - 1 - last) < 0]
        seen = gone.take(self._log.former_rows_of(gone)[1])
        held = gone.take(self._log.rows_of(gone)[1])
        came = np.concatenate([held, slots[signs > 0]])
        unseen = gone[np.isin(gone, came) & ~np.isin(gone, seen)]
        return after_last_addition(slots, signs, unseen)

    def _change(
        self, data: pa.RecordBatch, slots: Positions, signs: npt.NDArray[np.int8] | None
    ) -> None:
        """Let the last change of each key replace its row."""
        # the first of the reversed slots is the last change of its key
        touched, last = np.unique(slots[::-1], return_index=True)
        last = slots.size - 1 - last
        self._log.remove(self._log.rows_of(touched)[0])
        self._touched.append(touched)
        if signs is not None:
            last = last[signs.take(last) > 0]
        if last.size:
            rows = self._log.append(slots.take(last), data.take(pa.array(last)))
            self._life.renew(rows)

    def flush(self) -> None:
        if self._touched:
            self._emit_changes(np.unique(np.concatenate(self._touched)))
            self._touched = []
            self._log.mark()

    def end_epoch(self, ended: bool) -> None:
        if self._touched:
            self._emit_changes(np.unique(np.concatenate(self._touched)))
        self._log.remove(self._life.swept())

    def _emit_changes(self, slots: Positions) -> None:
        old, old_places = self._log.former_rows_of(slots)
        alive = self._life.alive(old)
        old, old_places = old[alive], old_places[alive]
        new, new_places = self._log.rows_of(slots)
        same = self._same(old, old_places, new, new_places)
        old_changed, new_changed = ~np.isin(old_places, same), ~np.isin(new_places, same)
        old, old_places = old[old_changed], old_places[old_changed]
        new, new_places = new[new_changed], new_places[new_changed]
        updated, replacing = np.isin(old_places, new_places), np.isin(new_places, old_places)
        before = np.where(updated, _UPDATE_BEFORE, _DELETE)
        if not self._spec.emits_update_before:
            old, before = old[~updated], before[~updated]
        after = np.where(replacing, _UPDATE_AFTER, _INSERT)
        self._emit(np.concatenate([old, new]), np.concatenate([before, after]))

    def _same(
        self, old: Positions, old_places: Positions, new: Positions, new_places: Positions
    ) -> Positions:
        """Positions of the keys whose row did not change."""
        if self._life or self._spec.repeatable or not old.size or not new.size:
            return np.empty(0, np.int64)
        before, after = self._log.take(old), self._log.take(new)
        unchanged = equal_pairs(before.columns, old_places, after.columns, new_places)
        return old_places.take(unchanged)

    def _emit(self, rows: Positions, kinds: npt.NDArray[np.int64]) -> None:
        if not rows.size:
            return
        data = pa.RecordBatch.from_arrays(self._log.take(rows).columns, schema=self._schema)
        row_kinds = pa.array(kinds.astype(np.int8)) if kinds.any() else None
        self.output.emit(ColumnBatch(data, None, row_kinds, "row"))
