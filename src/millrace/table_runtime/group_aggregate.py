"""`GroupAggregateOperator`: GROUP BY over a stream. It emits the net changes since its last flush.

Rows only change accumulators. A flush and the end of an epoch emit the change of each group touched
since the last flush: +I, -U and +U, or -D if its last row was retracted. Its former values come
from the table's undo information, which it keeps for an abort, so nothing is stored twice. In batch
mode each group is emitted once, at the end of the input. Flink: ``GroupAggregate`` with mini-batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millrace.common.types.batch import BatchForm, ColumnBatch
from millrace.common.types.logical.arrow_type import arrow_type
from millrace.common.types.logical.logical_type import RowType
from millrace.expressions import built_in
from millrace.expressions.resolved import AggregateCall
from millrace.state.columns.columnar_table import ColumnsOf
from millrace.state.columns.hash_index import Positions, distinct
from millrace.state.columns.positions import ValueColumn
from millrace.state.columns.slot_table import SlotTable
from millrace.state.columns.time_to_live import LAST_USED, TimeToLive
from millrace.state.table_id import TableId
from millrace.state.table_kinds import COLUMNS
from millrace.table_runtime.columns import same_rows, schema_of
from millrace.table_runtime.end_of_input import AT_ONCE, EndOfInput
from millrace.table_runtime.function_contexts import function_context
from millrace.table_runtime.group_accumulators import GroupAccumulators, signs_of
from millrace.table_runtime.state_columns import values_by_key
from millrace.table_runtime.unseen_keys import divided, last_retractions

__all__ = ["GroupAggregateOperator", "GroupAggregateSpec"]

_ROWS, _LAST_USED, _OWN = 0, 1, 2
"""Columns of the table: the group's number of rows and its time of last use; and the number of
these columns."""
_INSERT, _UPDATE_BEFORE, _UPDATE_AFTER, _DELETE = range(4)
_GROWING = (built_in.COUNT, built_in.MIN, built_in.MAX)
"""Aggregates that never return to an earlier result while rows are only added."""


@dataclass(frozen=True)
class GroupAggregateSpec:
    """Settings of a group aggregation.

    Attributes:
        input_type: columns of the input rows.
        groups: positions of the columns to group by. Empty for one group of all rows.
        calls: the aggregates.
        output_type: the group's columns, then the aggregates.
        retracts: whether the input may have retractions.
        emits_update_before: whether the consumer needs -U rows.
        state_ttl: ms without a new row after which a group is forgotten. 0 for never.
        batch: whether groups are emitted only at the end of the input. A single group of all rows
            is emitted even without input.
        hidden: number of the last columns of ``groups`` that are not in the result, such as the
            grouping set.
        repeatable: whether the changes must also correct what a lost epoch, which may have flushed
            at other places, has written into a table.
    """

    input_type: RowType
    groups: tuple[int, ...]
    calls: tuple[AggregateCall, ...]
    output_type: RowType
    retracts: bool = True
    emits_update_before: bool = True
    state_ttl: int = 0
    batch: bool = False
    hidden: int = 0
    repeatable: bool = False

    @property
    def gives_equal_results(self) -> bool:
        """Whether a touched group is emitted even if its result equals that of the last flush,
        because another result may have been emitted in between.
        """
        grows = not self.retracts and all(call.function in _GROWING for call in self.calls)
        return self.state_ttl > 0 or (self.repeatable and bool(self.calls) and not grows)


class GroupAggregateOperator(EndOfInput):
    """Aggregates rows by group.

    Args:
        spec: settings of the aggregation.
    """

    takes = BatchForm.COLUMNS

    def __init__(self, spec: GroupAggregateSpec) -> None:
        self._spec = spec

    def open(self) -> None:
        spec = self._spec
        self._accumulators = GroupAccumulators(
            spec.calls, spec.input_type, spec.retracts, _OWN, function_context(self.context)
        )
        key = tuple(arrow_type(spec.input_type.fields[index].type) for index in spec.groups)
        uid = self.context.uid
        self._table: SlotTable = self.context.state.table(TableId(uid, "@groups"), COLUMNS)
        own = (
            ValueColumn(np.dtype(np.int64), name="rows"),
            LAST_USED,
        )
        columns = (*own, *self._accumulators.value_columns)
        self._table.bind(values_by_key(spec.input_type, spec.groups, columns))
        self._accumulators.open(self.context.state, uid, key, self._table)
        self._schema = schema_of(spec.output_type)
        self._life = TimeToLive(self._table, _LAST_USED, spec.state_ttl)

    def restore(self) -> None:
        self._accumulators.restore()

    def advance_processing_time(self, now: int) -> None:
        self._life.begin_epoch(now)

    # -- rows --------------------------------------------------------------------------

    def process_columns(self, number: int, batch: ColumnBatch) -> None:
        if not len(batch):
            return
        data, signs = batch.data, signs_of(batch.row_kinds)
        if self._life:
            known = self._forget_expired(self._keys(data), data.num_rows)
            if signs is not None:
                lasting = self._lasting(data, signs, known)
                data, signs = data.filter(pa.array(lasting)), signs[lasting]
                if not data.num_rows:
                    return
        slots = self._table.slots_of(self._keys(data), create=True, count=data.num_rows)
        if signs is not None and self._spec.repeatable:
            counts = self._table.column(_ROWS)
            later = last_retractions(slots, signs, counts, self._table.space.live_at_mark)
            if later is not None:
                before, (data, slots, signs) = divided((data, slots, signs), later)
                self._change(*before)
                self.flush()
        self._change(data, slots, signs)

    def _change(
        self, data: pa.RecordBatch, slots: Positions, signs: npt.NDArray[np.int8] | None
    ) -> None:
        """Add rows to their groups, or take them away."""
        table = self._table
        table.touch(slots)
        np.add.at(table.column(_ROWS), slots, 1 if signs is None else signs)
        self._life.renew(slots)
        self._accumulators.accumulate(table, slots, data, signs)
        if signs is not None:
            self._remove_empty(slots)

    def _keys(self, data: pa.RecordBatch) -> list[pa.Array]:
        return [data.column(index) for index in self._spec.groups]

    def _remove_empty(self, slots: Positions) -> None:
        changed = distinct(slots)
        empty = changed[self._table.column(_ROWS).take(changed) <= 0]
        if empty.size:
            self._accumulators.forget(empty)
            self._table.remove(empty)

    # -- time to live ------------------------------------------------------------------

    def _forget_expired(self, keys: list[pa.Array], count: int) -> npt.NDArray[np.bool_]:
        """Forget expired groups, and return the rows whose groups have not expired."""
        slots = self._table.slots_of(keys, create=False, count=count)
        known = slots >= 0
        known[known] = self._life.alive(slots[known])
        self._forget(distinct(slots[~known & (slots >= 0)]))
        return known

    def _lasting(
        self, data: pa.RecordBatch, signs: npt.NDArray[np.int8], known: npt.NDArray[np.bool_]
    ) -> npt.NDArray[np.bool_]:
        """Flags of the rows that count. If a group has no state, retractions before its first
        insertion do not count: their rows belong to an earlier state of the group, which has
        expired. Flink skips such retractions as well."""
        groups = SlotTable()
        groups.bind(ColumnsOf(tuple(key.type for key in self._keys(data))))
        slots = groups.slots_of(self._keys(data), create=True, count=signs.size)
        first = np.full(int(slots.max()) + 1, signs.size)
        added = np.flatnonzero(signs > 0)
        np.minimum.at(first, slots.take(added), added)
        return known | (np.arange(signs.size) >= first.take(slots))

    def _forget(self, slots: Positions) -> None:
        if slots.size:
            self._accumulators.forget(slots)
            self._table.remove(slots)

    # -- changes -----------------------------------------------------------------------

    def flush(self) -> None:
        if not self._spec.batch:
            self._emit_changes()
            self._table.mark()

    def end_epoch(self, ended: bool) -> None:
        if not self._spec.batch:
            self._forget(self._life.swept())
            self._emit_changes()

    def end_input(self) -> None:
        if not self._spec.batch:
            return
        table = self._table
        if not self._spec.groups and not table.entry_count():
            table.slots_of([], create=True, count=1)
            table.column(_ROWS)[:] = 1
        slots = table.live_slots()
        for start in range(0, slots.size, AT_ONCE):
            some = slots[start : start + AT_ONCE]
            values = self._accumulators.values(some, table.space.values)
            shown = zip([*self._shown_keys(some), *values], self._schema, strict=True)
            self._emit([one.cast(field.type) for one, field in shown], None)

    def _emit_changes(self) -> None:
        former = self._table.space.marked()
        if not former.positions.size:
            return
        before = former.live
        if self._life:
            before = before & self._life.alive_at(former.values[_LAST_USED])
        positions = former.positions
        now = self._table.space.live.take(positions)
        numbers = np.arange(positions.size)
        both = before & now
        old = self._accumulators.values(numbers[before], former.values)
        new = self._accumulators.values(positions[now], self._table.space.values)
        # with a time-to-live an equal result also renews what is kept downstream
        if both.any() and not self._spec.gives_equal_results:
            same = np.zeros(positions.size, np.bool_)
            old_places, new_places = np.cumsum(before) - 1, np.cumsum(now) - 1
            pairs = pa.array(old_places[both]), pa.array(new_places[both])
            same[both] = same_rows(old, new, *pairs)
        else:
            same = np.zeros(positions.size, np.bool_)
        gone = before & ~same & (~now | self._spec.emits_update_before)
        came = now & ~same
        keys = self._shown_keys(positions)
        parts = [
            self._columns(keys, old, gone, gone[before]),
            self._columns(keys, new, came, came[now]),
        ]
        kinds = np.concatenate(
            [
                np.where(now[gone], _UPDATE_BEFORE, _DELETE),
                np.where(before[came], _UPDATE_AFTER, _INSERT),
            ]
        ).astype(np.int8)
        if kinds.size:
            columns = [
                pa.concat_arrays([one.cast(field.type), two.cast(field.type)])
                for one, two, field in zip(*parts, self._schema, strict=True)
            ]
            self._emit(columns, pa.array(kinds) if kinds.any() else None)

    def _shown_keys(self, slots: Positions) -> list[pa.Array]:
        return self._table.keys_at(slots)[: len(self._spec.groups) - self._spec.hidden]

    def _emit(self, columns: Sequence[pa.Array], kinds: pa.Array | None) -> None:
        data = pa.RecordBatch.from_arrays(columns, schema=self._schema)
        self.output.emit(ColumnBatch(data, None, kinds, "row"))

    @staticmethod
    def _columns(
        keys: Sequence[pa.Array],
        values: Sequence[pa.Array],
        of_keys: npt.NDArray[np.bool_],
        of_values: npt.NDArray[np.bool_],
    ) -> list[pa.Array]:
        key_mask, value_mask = pa.array(of_keys), pa.array(of_values)
        return [key.filter(key_mask) for key in keys] + [v.filter(value_mask) for v in values]
