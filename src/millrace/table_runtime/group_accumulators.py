"""`GroupAccumulators`: the aggregates of a query for the groups of a slot table.

An aggregate is a `ColumnAccumulator` with columns of the table. DISTINCT, and MIN and MAX with
retractions, also store the values of each group with their counts (`ValueCounts`); their
accumulators only see values that a group gains or loses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from millrace.common.types.logical.arrow_type import arrow_type
from millrace.common.types.logical.logical_type import RowType
from millrace.expressions.aggregates.accumulator import ColumnAccumulator
from millrace.expressions.aggregates.accumulators import accumulator
from millrace.expressions.columns import of_length
from millrace.expressions.function_context import FunctionContext
from millrace.expressions.resolved import AggregateCall
from millrace.state.columns.hash_index import Positions
from millrace.state.columns.positions import ValueColumn
from millrace.state.columns.row_log import RowLog
from millrace.state.columns.slot_table import SlotTable
from millrace.state.store import SubtaskState
from millrace.state.table_id import TableId
from millrace.table_runtime.value_counts import ValueCounts

__all__ = ["GroupAccumulators", "signs_of"]

Signs = npt.NDArray[np.int8] | None
_UPDATE_BEFORE, _DELETE = 1, 3


def signs_of(row_kinds: pa.Array | None) -> Signs:
    """For each row, -1 if it is retracted (-U and -D), else 1. None if no row is retracted."""
    if row_kinds is None:
        return None
    kinds = row_kinds.to_numpy(zero_copy_only=False)
    back = (kinds == _UPDATE_BEFORE) | (kinds == _DELETE)
    return np.where(back, -1, 1).astype(np.int8) if back.any() else None


@dataclass(slots=True)
class _Aggregate:
    """One aggregate call, and the columns of its accumulator."""

    call: AggregateCall
    accumulator: ColumnAccumulator
    start: int
    end: int
    by_value: bool
    """Whether the accumulator gets values that are added and removed, rather than rows."""
    values: ValueCounts | None = None

    def columns(self, table: SlotTable | RowLog) -> tuple[npt.NDArray[Any], ...]:
        return tuple(table.space.values[self.start : self.end])

    def of(self, slots: Positions, columns: tuple[npt.NDArray[Any], ...]) -> pa.Array:
        """Value of the aggregate for each of the slots."""
        made = self.accumulator.value(slots, columns)
        return of_length(made, len(slots), self.call.function.name)


def _shown(call: AggregateCall, input_type: RowType, number: int) -> str:
    """Name of an aggregate's state column, such as ``sum_price`` or ``sum_price_2``."""
    arguments = (input_type.fields[index].name for index in call.arguments)
    name = "_".join([call.function.name.lower(), *arguments])
    return f"{name}_{number + 1}" if number else name


class GroupAccumulators:
    """Aggregates by group.

    Args:
        calls: the aggregates.
        input_type: columns of the rows.
        retracts: whether the input may have retractions.
        offset: number of the table's columns before the aggregates' columns.
        context: context for functions of the user.
    """

    def __init__(
        self,
        calls: Sequence[AggregateCall],
        input_type: RowType,
        retracts: bool,
        offset: int = 0,
        context: FunctionContext | None = None,
    ) -> None:
        self._input_type = input_type
        self._aggregates: list[_Aggregate] = []
        for call in calls:
            types = tuple(input_type.fields[index].type for index in call.arguments)
            made = accumulator(call.function, types, call.type, call.options, retracts)
            made.context = context or FunctionContext({})
            end = offset + len(made.columns())
            extreme = not made.retracts
            by_value = (call.distinct and not extreme) or (extreme and retracts)
            self._aggregates.append(_Aggregate(call, made, offset, end, by_value))
            offset = end

    @property
    def value_columns(self) -> list[ValueColumn]:
        """Columns that the table needs for the aggregates."""
        return [
            ValueColumn(
                dtype,
                None if dtype == np.object_ else 0,
                _shown(aggregate.call, self._input_type, number),
            )
            for aggregate in self._aggregates
            for number, dtype in enumerate(aggregate.accumulator.columns())
        ]

    @property
    def unmergeable(self) -> bool:
        """Whether some aggregates cannot be merged, because they keep values in a separate table or
        depend on the order of rows.
        """
        return any(
            aggregate.by_value or aggregate.accumulator.in_order for aggregate in self._aggregates
        )

    def merge(
        self,
        slots: Positions,
        table: SlotTable | RowLog,
        other_slots: Positions,
        other: SlotTable | RowLog,
    ) -> None:
        """Merge the accumulators of another table's slots into slots of this table."""
        for aggregate in self._aggregates:
            aggregate.accumulator.merge(
                slots, aggregate.columns(table), other_slots, aggregate.columns(other)
            )

    def open(
        self,
        state: SubtaskState,
        uid: str,
        key: Sequence[pa.DataType],
        groups: SlotTable,
        inner: Sequence[pa.DataType] = (),
    ) -> None:
        """Create the tables of values."""
        for number, aggregate in enumerate(self._aggregates):
            if not aggregate.by_value:
                continue
            types = [arrow_type(self._input_type.fields[i].type) for i in aggregate.call.arguments]
            kind = types[0] if len(types) == 1 else _struct(types)
            name = TableId(uid, f"@values-{number}")
            aggregate.values = ValueCounts(state, name, key, kind, groups, inner)

    def restore(self) -> None:
        """Refresh after a restore has changed the tables."""
        for aggregate in self._aggregates:
            if aggregate.values is not None:
                aggregate.values.restore()

    def accumulate(
        self,
        table: SlotTable | RowLog,
        slots: Positions,
        batch: pa.RecordBatch,
        signs: Signs,
    ) -> None:
        """Add a batch of rows, after the caller has marked the slots as changed."""
        for aggregate in self._aggregates:
            call = aggregate.call
            arguments = [batch.column(index) for index in call.arguments]
            counted = aggregate.by_value and not aggregate.accumulator.takes_nulls
            mask = _mask(batch, call, arguments if counted else [])
            rows = _Rows(slots, arguments, signs)
            self._add(aggregate, table, rows if mask is None else rows.where(mask))

    def _add(self, aggregate: _Aggregate, table: SlotTable | RowLog, rows: _Rows) -> None:
        if not rows.slots.size:
            return
        columns = aggregate.columns(table)
        if aggregate.values is None:
            aggregate.accumulator.accumulate(rows.slots, columns, rows.arguments, rows.signs)
            return
        values = rows.arguments[0] if len(rows.arguments) == 1 else _joined(rows.arguments)
        transitions = aggregate.values.update(rows.slots, values, rows.signs)
        if not transitions.rows.size:
            return
        slots = rows.slots.take(transitions.rows)
        if aggregate.accumulator.retracts:
            order = np.argsort(
                transitions.rows
            )  # the values of a group come in the order of its rows
            slots, signs = slots.take(order), transitions.signs.take(order)
            chosen = pa.array(transitions.rows.take(order))
            arguments = [argument.take(chosen) for argument in rows.arguments]
            aggregate.accumulator.accumulate(slots, columns, arguments, signs)
            return
        came = transitions.signs > 0
        chosen = pa.array(transitions.rows[came])
        aggregate.accumulator.accumulate(slots[came], columns, [values.take(chosen)], None)
        if not came.all():
            self._recompute(aggregate, columns, np.unique(slots[~came]))

    def running(self, table: SlotTable, slots: Positions, batch: pa.RecordBatch) -> list[pa.Array]:
        """Add rows one after the other and return the aggregates after each row. Rows of a slot are
        adjacent and in order. The caller has marked the slots as changed.

        Returns:
            The aggregates after each row.
        """
        begins = np.flatnonzero(np.diff(slots, prepend=-1))
        return [
            self._running(aggregate, table, (slots, begins), batch)
            for aggregate in self._aggregates
        ]

    def _running(
        self,
        aggregate: _Aggregate,
        table: SlotTable,
        owners: tuple[Positions, Positions],
        batch: pa.RecordBatch,
    ) -> pa.Array:
        (slots, begins), call = owners, aggregate.call
        arguments = [batch.column(index) for index in call.arguments]
        columns = aggregate.columns(table)
        counted = _mask(batch, call, [])
        if aggregate.values is not None:
            counted = self._first_rows(aggregate, slots, batch)
        if counted is None and not arguments:
            counted = np.ones(slots.size, np.bool_)
        first = slots.take(begins)
        carry = tuple(column.take(first) for column in columns)
        running_columns = aggregate.accumulator.running(carry, begins, arguments, counted)
        if running_columns is None:
            rows = _Rows(slots, arguments, None)
            return self._row_by_row(aggregate, columns, rows, begins, counted)
        last = np.append(begins[1:], slots.size) - 1
        for column, made in zip(columns, running_columns, strict=True):
            column[first] = made[last]
        return aggregate.of(np.arange(slots.size), running_columns)

    @staticmethod
    def _first_rows(
        aggregate: _Aggregate, slots: Positions, batch: pa.RecordBatch
    ) -> npt.NDArray[np.bool_]:
        """Flags of the rows whose value is new in their slot."""
        assert aggregate.values is not None
        arguments = [batch.column(index) for index in aggregate.call.arguments]
        mask = _mask(batch, aggregate.call, [] if aggregate.accumulator.takes_nulls else arguments)
        rows = _Rows(slots, arguments, None)
        chosen = np.arange(slots.size) if mask is None else np.flatnonzero(mask)
        rows = rows if mask is None else rows.where(mask)
        marks = np.zeros(slots.size, np.bool_)
        if chosen.size:
            values = rows.arguments[0] if len(rows.arguments) == 1 else _joined(rows.arguments)
            transitions = aggregate.values.update(rows.slots, values, None)
            marks[chosen.take(transitions.rows)] = True
        return marks

    @staticmethod
    def _row_by_row(
        aggregate: _Aggregate,
        columns: tuple[npt.NDArray[Any], ...],
        rows: _Rows,
        begins: Positions,
        counted: npt.NDArray[np.bool_] | None,
    ) -> pa.Array:
        """Add rows in rounds: each round adds one row of each slot."""
        sizes = np.diff(begins, append=rows.slots.size)
        places = np.arange(rows.slots.size) - np.repeat(begins, sizes)
        order = np.argsort(places, kind="stable")
        ends = np.cumsum(np.bincount(places)).tolist()
        parts = []
        for start, end in zip([0, *ends], ends, strict=False):
            of_round = order[start:end]
            added = of_round if counted is None else of_round[counted.take(of_round)]
            if added.size:
                chosen = pa.array(added)
                arguments = [argument.take(chosen) for argument in rows.arguments]
                aggregate.accumulator.accumulate(rows.slots.take(added), columns, arguments, None)
            parts.append(aggregate.of(rows.slots.take(of_round), columns))
        return pa.concat_arrays(parts).take(pa.array(np.argsort(order)))

    @staticmethod
    def _recompute(
        aggregate: _Aggregate, columns: tuple[npt.NDArray[Any], ...], groups: Positions
    ) -> None:
        """Recompute the aggregates of groups that lost a value, from all values that they still
        have."""
        assert aggregate.values is not None
        for column in columns:
            column[groups] = None if column.dtype == np.object_ else 0
        owners, values = aggregate.values.of_groups(groups)
        aggregate.accumulator.accumulate(owners, columns, [values], None)

    def forget(self, slots: Positions) -> None:
        """Remove the values of groups that are removed."""
        for aggregate in self._aggregates:
            if aggregate.values is not None:
                aggregate.values.remove(slots)

    def values(self, slots: Positions, columns: Sequence[npt.NDArray[Any]]) -> list[pa.Array]:
        """Aggregates of slots, computed from the table's current (or former) columns."""
        return [
            aggregate.of(slots, tuple(columns[aggregate.start : aggregate.end]))
            for aggregate in self._aggregates
        ]


@dataclass(slots=True)
class _Rows:
    """Rows to add to an aggregate."""

    slots: Positions
    arguments: list[pa.Array]
    signs: Signs

    def where(self, mask: npt.NDArray[np.bool_]) -> _Rows:
        chosen = pa.array(mask)
        return _Rows(
            self.slots[mask],
            [argument.filter(chosen) for argument in self.arguments],
            None if self.signs is None else self.signs[mask],
        )


def _mask(
    batch: pa.RecordBatch, call: AggregateCall, values: list[pa.Array]
) -> npt.NDArray[np.bool_] | None:
    """Flags of the rows that pass the FILTER and have no NULL argument. None if all rows count."""
    masks = [pc.is_valid(value) for value in values if value.null_count]
    if call.filter is not None:
        masks.append(pc.fill_null(batch.column(call.filter), False))
    if not masks:
        return None
    passing: npt.NDArray[np.bool_] = masks[0].to_numpy(zero_copy_only=False)
    for mask in masks[1:]:
        passing = passing & mask.to_numpy(zero_copy_only=False)
    return None if passing.all() else passing


def _struct(types: list[pa.DataType]) -> pa.DataType:
    return pa.struct([(f"f{number}", kind) for number, kind in enumerate(types)])


def _joined(arguments: list[pa.Array]) -> pa.Array:
    names = [f"f{number}" for number in range(len(arguments))]
    return pa.StructArray.from_arrays(arguments, names)
