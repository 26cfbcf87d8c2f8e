"""Event-time windows with the default trigger: accumulators or elements are kept in whole panes.

A pane holds what one window has of every key of this subtask, so a window fires and is purged as a
whole. Semantics: Flink docs, "Windows" (event-time trigger; a record is late when the watermark has
passed the end of its window).
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heapify, heappop, heappush
from typing import Any

from millrace.common.functions.output_tag import OutputTag
from millrace.common.types.typeinfo import Types
from millrace.common.window import TimeWindow, TumblingEventTimeWindows, WindowAssigner
from millrace.common.window.window_assigner import checked_timestamp
from millrace.runtime.buffer import MIN_WATERMARK
from millrace.runtime.detached import are_immutable, detached
from millrace.runtime.epoch import EpochContext
from millrace.runtime.function_operator import FunctionOperator
from millrace.runtime.late_records import LateRecords
from millrace.runtime.operator import OperatorContext
from millrace.runtime.operators.window_operator import missing_event_time
from millrace.runtime.output import Output
from millrace.runtime.window_logic import WindowEvaluation, WindowLogic
from millrace.runtime.window_state import refuse_other_windows
from millrace.state import table_kinds
from millrace.state.internal_tables import PANE_ACCUMULATORS, PANE_ELEMENTS
from millrace.state.nested_table import NestedTable
from millrace.state.table_id import TableId
from millrace.state.table_kinds import PANES

Pane = tuple[int, int]
"""Start and end of a pane, ms since the epoch."""
KeyBatch = Callable[[list[Any]], list[Any]]


class PaneWindowOperator(FunctionOperator):
    """Assigns records to windows, keeps their panes, and fires windows with the watermark."""

    tables = PANE_ACCUMULATORS, PANE_ELEMENTS
    kinds = PANES, table_kinds.PANE_ELEMENTS
    """Names of the tables for panes of accumulators and for panes of elements."""

    def __init__(
        self,
        assigner: WindowAssigner[Any, TimeWindow],
        logic: WindowLogic,
        key_batch: KeyBatch,
        late_tag: OutputTag[Any] | None = None,
    ) -> None:
        super().__init__(logic.window_function)
        self._assigner = assigner
        self._logic = logic
        self._keys_of = key_batch
        self._late_tag = late_tag

    def setup(
        self, context: OperatorContext, output: Output, side: dict[OutputTag[Any], Output]
    ) -> None:
        super().setup(context, output, side)
        incremental = self._logic.incremental
        self._place = self.tables[0 if incremental else 1]
        kind = self.kinds[0 if incremental else 1]
        record = context.state.record_type(context.uid)
        if not incremental and record is not None:
            record = Types.LIST(record)
        declared = None if self._logic.aggregate is not None else record
        name = TableId(context.uid, self._place)
        self._table: NestedTable = context.state.table(name, kind, declared)

    def open(self) -> None:
        self._evaluation = WindowEvaluation(self, self._logic)
        self._ends: list[tuple[int, Pane]] = []
        self._epoch = 0
        if self._logic.incremental:
            self._add, self._create = self._logic.accumulate_functions()
        self._result = self._logic.result_function()
        self._late = LateRecords(self)

    def close(self) -> None:
        self._evaluation.close()

    def restore(self) -> None:
        refuse_other_windows(self.context, self._place)
        self._ends = [(pane[1] - 1, pane) for pane in self._table.data]
        heapify(self._ends)

    def begin_epoch(self, epoch: EpochContext) -> None:
        super().begin_epoch(epoch)
        self._sequence = 0

    def process(self, values: list[Any], timestamps: list[int] | None) -> None:
        if timestamps is None:
            raise missing_event_time(self.context.name)
        keys = self._keys_of(values)
        if isinstance(self._assigner, TumblingEventTimeWindows):
            size, offset = self._assigner.size, self._assigner.offset
            late = self._add_batch(keys, values, panes_of(values, timestamps, size, offset))
        else:
            late = self._add_assigned(keys, values, timestamps)
        if late:
            self._late.take(self._late_tag, late, values, timestamps)

    def _add_batch(self, keys: list[Any], values: list[Any], panes: list[Pane]) -> list[int]:
        """Add each record to its pane, and return the positions of the late records."""
        if self._table.spills and self._logic.incremental:
            self._prefetch(keys, panes)
        add = self._add_incremental if self._logic.incremental else self._add_elements
        return add(keys, values, panes)

    def _add_assigned(self, keys: list[Any], values: list[Any], timestamps: list[int]) -> list[int]:
        """Add each record to all its windows, and return the positions of the late records. A
        record is late if all its windows are."""
        assign, context = self._assigner.assign_windows, self._evaluation.assigner_context
        places: list[int] = []
        panes: list[Pane] = []
        parts: list[Any] = []
        # an accumulator may hold on to a record and change it: then each window has its own
        part = _same if are_immutable(values) else detached
        for index, value in enumerate(values):
            for window in assign(value, timestamps[index], context):
                places.append(index)
                panes.append((window.start, window.end))
                parts.append(part(value))
        late = self._add_batch([keys[i] for i in places], parts, panes)
        missed = {places[i] for i in late}
        missed -= {places[i] for i in set(range(len(places))) - set(late)} if missed else set()
        return sorted(missed)

    def _over(self) -> int:
        """Time up to which windows have fired, in ms since the epoch: all windows that end by
        then."""
        return self.watermark

    def _last_moment(self, pane: Pane) -> int:
        """Time at which the last window with this pane fires, in ms since the epoch."""
        return pane[1] - 1

    def _add_incremental(self, keys: list[Any], values: list[Any], panes: list[Pane]) -> list[int]:
        batch = (panes, keys, values)
        return self._table.upsert_many(batch, self._add, self._create, self._admitting())

    def _add_elements(self, keys: list[Any], values: list[Any], panes: list[Pane]) -> list[int]:
        """Add elements, stored per key and epoch, so that an epoch's delta holds only its own
        elements."""
        epoch = self._epoch
        places = [(key, epoch) for key in keys]
        return self._table.append_many((panes, places, values), self._admitting())

    def _admitting(self) -> Callable[[Pane], bool]:
        """Function that tells whether records may be added to a pane: False if all windows with
        the pane have fired. It also schedules the windows of a new pane."""
        over, data = self._over(), self._table.data

        def admits(pane: Pane) -> bool:
            if self._last_moment(pane) <= over:
                return False
            if pane not in data:
                self._schedule(pane)
            return True

        return admits

    def _prefetch(self, keys: list[Any], panes: list[Pane]) -> None:
        wanted: dict[Pane, set[Any]] = {}
        for key, pane in zip(keys, panes, strict=True):
            wanted.setdefault(pane, set()).add(key)
        for pane, pane_keys in wanted.items():
            self._table.prefetch_inner(pane, pane_keys)

    def _schedule(self, pane: Pane) -> None:
        """Schedule the windows of a new pane."""
        heappush(self._ends, (pane[1] - 1, pane))

    def process_watermark(self, timestamp: int) -> None:
        self.watermark = timestamp
        while self._ends and self._ends[0][0] <= timestamp:
            _, pane = heappop(self._ends)
            entries = self._table.drop(pane)
            if entries:
                self._fire(TimeWindow(*pane), self._contents(entries))
        super().process_watermark(timestamp)

    def _fire(self, window: TimeWindow, contents: list[tuple[Any, Any]]) -> None:
        """Emit the results of a window for each key."""
        evaluation, incremental = self._evaluation, self._logic.incremental
        if evaluation.emits_aggregates:
            results = [value for _, value in contents]
        else:
            results = []
            for key, value in contents:
                evaluation.evaluate(key, window, [value] if incremental else value, results)
                evaluation.clear(key, window)
        self.emit_results(results, [window.max_timestamp()] * len(results))

    def _contents(self, entries: dict[Any, Any]) -> list[tuple[Any, Any]]:
        """Contents of the window for each key: the aggregate's result, or the list of elements."""
        if self._logic.incremental:
            result = self._result
            return [(key, result(accumulator)) for key, accumulator in entries.items()]
        elements: dict[Any, list[Any]] = {}
        # by epoch: a restored pane does not hold its entries in the order they came
        for (key, _), values in sorted(entries.items(), key=_epoch_of):
            elements.setdefault(key, []).extend(values)
        return list(elements.items())


def panes_of(values: list[Any], timestamps: list[int], size: int, offset: int) -> list[Pane]:
    """Pane of each event time. Equal panes are the same object.

    Raises:
        JobExecutionError: a record has no event time.
    """
    starts = [time - (time - offset) % size for time in timestamps]
    panes = {start: (start, start + size) for start in set(starts)}
    if min(panes, default=0) <= MIN_WATERMARK:
        for value, time in zip(values, timestamps, strict=True):
            checked_timestamp(value, time)
    return [panes[start] for start in starts]


def _same(value: Any) -> Any:
    return value


def _epoch_of(entry: tuple[tuple[Any, int], Any]) -> int:
    return entry[0][1]
