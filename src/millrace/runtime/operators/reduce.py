"""Operator of rolling aggregations on a keyed stream: reduce, sum, min, max and others.

In streaming mode it emits the new aggregate for every record, in batch mode only the last one of
each key, at the end of the input (Flink docs, "Execution Mode").
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from millrace.common.types.batch import RowBatch
from millrace.runtime.buffer import MAX_WATERMARK
from millrace.runtime.current_key import CurrentKey
from millrace.runtime.detached import are_immutable, detached
from millrace.runtime.function_operator import FunctionOperator, as_callable
from millrace.runtime.keyed_state import KeyedStates
from millrace.state.flat_table import FlatTable
from millrace.state.internal_tables import REDUCED
from millrace.state.table_id import TableId
from millrace.state.table_kinds import FLAT


class ReduceOperator(FunctionOperator):
    """Combines each record with the aggregate of its key. The function may have keyed state."""

    def __init__(self, function: Any, key_batch: Callable[[list[Any]], list[Any]]) -> None:
        super().__init__(function)
        self._keys_of = key_batch

    def open(self) -> None:
        state, uid = self.context.state, self.context.uid
        self._current = CurrentKey()
        self._states = KeyedStates(state, uid, self._current, clock=self.context.clock)
        self.open_function(self._states)
        self._reduce = as_callable(self.function, "reduce")
        self._table: FlatTable = state.table(TableId(uid, REDUCED), FLAT, state.record_type(uid))

    def process(self, values: list[Any], timestamps: list[int] | None) -> None:
        reduce = self._reduce
        results: list[Any] = []
        append = results.append
        immutable = self.context.batch_mode or self.immutable_input or are_immutable(values)
        if not immutable:
            # what is emitted must not be the object that the next reduce may change in place
            def append(value: Any) -> None:
                results.append(detached(value))

        keys = self._keys_of(values)
        self._table.prefetch(keys)
        data = self._table.writable(keys)
        pairs: Iterable[tuple[Any, Any]] = zip(keys, values, strict=True)
        if self._states.names():
            pairs = self._with_current_key(keys, pairs)
        for key, value in pairs:
            if key in data:
                value = reduce(data[key], value)
            data[key] = value
            append(value)
        if not self.context.batch_mode:
            self.output.emit(RowBatch(results, timestamps))

    def _with_current_key(
        self, keys: list[Any], pairs: Iterable[tuple[Any, Any]]
    ) -> Iterator[tuple[Any, Any]]:
        """Yield the pairs. Before each pair, its key becomes the current key of the keyed
        states."""
        self._states.records += len(keys)
        self._states.prefetch(keys)
        for pair in pairs:
            self._current.key = pair[0]
            yield pair

    def process_watermark(self, timestamp: int) -> None:
        if self.context.batch_mode and timestamp == MAX_WATERMARK and self._table.data:
            self.output.emit(RowBatch(list(self._table.data.values())))
        super().process_watermark(timestamp)
