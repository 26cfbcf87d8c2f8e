"""Vectorised keyed functions: state and timers in columns, aligned with the rows of a batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from millrace.common.errors import JobDefinitionError, JobExecutionError, StateError
from millrace.common.functions.batch_functions import BatchProcessFunction, ColumnTimerService
from millrace.common.functions.key_selector import CompositeKey, FieldKey, PositionKey
from millrace.common.state.column_descriptors import ColumnDescriptor
from millrace.common.time.time_domain import TimeDomain
from millrace.common.types.batch import ColumnBatch
from millrace.runtime.buffer import MAX_WATERMARK
from millrace.runtime.column_state import ColumnState, column_state, column_values
from millrace.runtime.column_timers import ColumnTimers
from millrace.runtime.operators.map_batches import BatchSpec, MapBatchesOperator
from millrace.runtime.stable_groups import StableGroups
from millrace.state.columns.key_columns import KeyColumns, first_rows
from millrace.state.columns.slot_table import SlotTable
from millrace.state.internal_tables import EVENT_TIMES, PROCESSING_TIMES
from millrace.state.table_id import TableId
from millrace.state.table_kinds import COLUMN_MAP, COLUMNS

__all__ = ["KeyField", "ProcessBatchOperator", "key_fields"]

KeyField = str | int
"""A column of the key: its name or position."""
TIMESTAMP = "timestamp"


def key_fields(selector: Any) -> tuple[KeyField, ...]:
    """Fields of the key.

    Raises:
        JobDefinitionError: the selector is a function, or names a column within a list of one.
    """
    if isinstance(selector, FieldKey):
        return (selector.name,)
    if isinstance(selector, PositionKey):
        return (selector.position,)
    if isinstance(selector, CompositeKey) and len(selector.parts) > 1:
        return tuple(field for part in selector.parts for field in key_fields(part))
    raise JobDefinitionError(
        "process_batch() has its keys in columns, so key_by has to name them: key_by('a') or "
        "key_by(['a', 'b'])"
    )


class _Timers(ColumnTimerService):
    def __init__(self, operator: ProcessBatchOperator) -> None:
        self._operator = operator

    def current_processing_time(self) -> int:
        return self._operator.context.clock()

    def current_watermark(self) -> int:
        return self._operator.watermark

    def register_event_time_timers(self, times: Any) -> None:
        self._operator.event_timers.register(*self._rows(times))

    def register_processing_time_timers(self, times: Any) -> None:
        self._operator.processing_timers.register(*self._rows(times))

    def delete_event_time_timers(self, times: Any) -> None:
        self._operator.event_timers.delete(*self._rows(times))

    def delete_processing_time_timers(self, times: Any) -> None:
        self._operator.processing_timers.delete(*self._rows(times))

    def _rows(self, times: Any) -> tuple[list[pa.Array], pa.Array]:
        operator = self._operator
        return operator.keys, column_values(times, operator.count, "a method of timers")


class _BatchContext(BatchProcessFunction.Context):
    def __init__(self, operator: ProcessBatchOperator) -> None:
        self._operator = operator
        self._timers = _Timers(operator)
        self.domain = TimeDomain.EVENT_TIME

    def state(self, name: str) -> ColumnState:
        states = self._operator.states
        if name not in states:
            raise StateError(
                f"operator '{self._operator.context.name}' has no state {name!r}; its states are "
                f"[{', '.join(states)}]: declare it in states()"
            )
        return states[name]

    def last_rows(self) -> pa.Array:
        return self._operator.last_rows()

    def timer_service(self) -> ColumnTimerService:
        return self._timers

    def time_domain(self) -> TimeDomain:
        return self.domain


class ProcessBatchOperator(MapBatchesOperator):
    """Calls a `BatchProcessFunction`, or a function of a batch and its context.

    Args:
        function: the function.
        spec: format of the batches.
        fields: fields of the key.
        descriptors: descriptors of the states.
    """

    method = "process_batch"
    keys: list[pa.Array]
    """Keys of the rows that the function has."""
    count: int

    def __init__(
        self,
        function: Any,
        spec: BatchSpec,
        fields: tuple[KeyField, ...],
        descriptors: Sequence[ColumnDescriptor],
    ) -> None:
        super().__init__(function, spec)
        self._fields = fields
        self._descriptors = descriptors

    def open(self) -> None:
        super().open()
        self.states = {
            descriptor.name: column_state(descriptor, self._table(descriptor.name, COLUMNS))
            for descriptor in self._descriptors
        }
        self.event_timers = ColumnTimers(self._table(EVENT_TIMES, COLUMN_MAP))
        self.processing_timers = ColumnTimers(self._table(PROCESSING_TIMES, COLUMN_MAP))
        self._keyed: tuple[ColumnState | ColumnTimers, ...] = (
            *self.states.values(),
            self.event_timers,
            self.processing_timers,
        )
        self._batch_context = _BatchContext(self)
        self._key_types: tuple[pa.DataType, ...] | None = None

    def _table(self, name: str, kind: Any) -> SlotTable:
        table: SlotTable = self.context.state.table(TableId(self.context.uid, name), kind)
        return table

    def restore(self) -> None:
        for keyed in self._keyed:
            inner = isinstance(keyed, ColumnTimers)
            types = _restored_types(keyed.table, len(self._fields), inner)
            if types is not None:
                self._bind(types)
                break
        self.event_timers.refresh()
        self.processing_timers.refresh()

    def _bind(self, types: tuple[pa.DataType, ...]) -> None:
        self._key_types = types
        for keyed in self._keyed:
            keyed.bind(types)

    # -- rows --------------------------------------------------------------------------

    def advance_processing_time(self, now: int) -> None:
        for state in self.states.values():
            state.begin_epoch(now)
        self._fire(self.processing_timers, now, TimeDomain.PROCESSING_TIME)

    def process_columns(self, number: int, batch: ColumnBatch) -> None:
        if len(batch):
            self._attach(self._key_columns(batch.data), len(batch))
            self.emit_batches(batch, lambda data: self._map(data, self._batch_context))

    def end_epoch(self, ended: bool) -> None:
        super().end_epoch(ended)
        for state in self.states.values():
            state.end_epoch()

    def _attach(self, keys: list[pa.Array], count: int) -> None:
        self.keys, self.count = keys, count
        for state in self.states.values():
            state.attach(keys, count)

    def last_rows(self) -> pa.Array:
        """Positions of the last row of each key, in ascending order."""
        index = KeyColumns([key.type for key in self.keys])
        _, numbers = first_rows(index.words(self.keys, self.count))
        return pa.array(np.sort(StableGroups.of(numbers).last))

    # -- keys --------------------------------------------------------------------------

    def _key_columns(self, data: pa.RecordBatch) -> list[pa.Array]:
        known = self._key_types
        columns = [
            self._key_column(data, field, None if known is None else known[number])
            for number, field in enumerate(self._fields)
        ]
        if known is None:
            self._bind(tuple(column.type for column in columns))
        return columns

    def _key_column(
        self, data: pa.RecordBatch, field: KeyField, known: pa.DataType | None
    ) -> pa.Array:
        try:
            column = data.column(field)
        except (KeyError, IndexError):
            raise JobExecutionError(
                f"operator '{self.context.name}' has keys in the column {field!r}, and gets "
                f"records with the columns {', '.join(data.schema.names)}"
            ) from None
        wanted = known or _key_type(column.type)
        if wanted is None or (known is not None and _key_type(column.type) not in (known, None)):
            raise JobExecutionError(
                f"operator '{self.context.name}' has keys of the type {column.type} in the column "
                f"{field!r}"
                + (f" after such of {known}" if known is not None else "")
                + "; keys in columns are integers, texts, bytes, booleans or dates of one type: "
                "cast them before key_by"
            )
        return column.cast(wanted)

    # -- timers ------------------------------------------------------------------------

    def process_watermark(self, timestamp: int) -> None:
        self.watermark = timestamp
        self._fire(self.event_timers, timestamp, TimeDomain.EVENT_TIME)
        super().process_watermark(timestamp)

    def next_wakeup(self) -> int | None:
        return None if self.watermark == MAX_WATERMARK else self.processing_timers.earliest()

    def _fire(self, timers: ColumnTimers, until: int, domain: TimeDomain) -> None:
        while (due := timers.due(until)) is not None:
            keys, times = due
            self._attach(keys, times.size)
            self._batch_context.domain = domain
            at = pa.array(times)
            data = pa.RecordBatch.from_arrays([*keys, at], [*self._key_names(), TIMESTAMP])
            taken = ColumnBatch(data, at if domain is TimeDomain.EVENT_TIME else None)
            self.emit_batches(taken, self._call_on_timer)

    def _call_on_timer(self, timers: Any) -> Any:
        if not isinstance(self.function, BatchProcessFunction):
            raise JobExecutionError(
                f"operator '{self.context.name}' has timers and no on_timer(): make its function "
                "a BatchProcessFunction"
            )
        return self.function.on_timer(timers, self._batch_context)

    def _key_names(self) -> list[str]:
        return [field if isinstance(field, str) else f"f{field}" for field in self._fields]


def _key_type(kind: pa.DataType) -> pa.DataType | None:
    """Type in which keys of the type ``kind`` are stored. None if such keys cannot be in
    columns."""
    types = pa.types
    if types.is_dictionary(kind):
        return _key_type(kind.value_type)
    if types.is_integer(kind):
        return kind if types.is_uint64(kind) else pa.int64()
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return pa.string()
    if types.is_binary(kind) or types.is_large_binary(kind):
        return pa.binary()
    return kind if types.is_boolean(kind) or types.is_date32(kind) else None


def _restored_types(table: SlotTable, parts: int, inner: bool) -> tuple[pa.DataType, ...] | None:
    """Types of the keys of a restored table. None if the table is empty.

    A canonical savepoint gives Python objects. ``inner``: entries have a key of their own, too.
    """
    if table.columns is not None:
        return table.columns.key
    keys = list(table.data)
    if not keys:
        return None
    if inner:
        keys = [key for key, _ in keys]
    columns = [keys] if parts == 1 else zip(*keys, strict=True)
    return tuple(pa.array(list(column)).type for column in columns)
