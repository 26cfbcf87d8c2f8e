"""Sliding event-time windows that share their panes.

A record is added to one pane, whatever the number of windows it belongs to; a window is put
together from its panes when it fires (see `SlidingAggregates`). Values that are merged so are
combined in the order they came within a pane, and in the order of time from pane to pane.
"""

from __future__ import annotations

from heapq import heappop, heappush
from math import gcd
from operator import itemgetter
from typing import Any

from millrace.common.functions.output_tag import OutputTag
from millrace.common.window import SlidingEventTimeWindows, TimeWindow
from millrace.runtime.buffer import MIN_WATERMARK
from millrace.runtime.declared_state import declared_table
from millrace.runtime.detached import are_immutable, detached
from millrace.runtime.operator import OperatorContext
from millrace.runtime.operator_state_declaration import OperatorStateDeclaration
from millrace.runtime.operators.pane_window import KeyBatch, Pane, PaneWindowOperator, panes_of
from millrace.runtime.operators.window_operator import missing_event_time
from millrace.runtime.output import Output
from millrace.runtime.sliding_aggregates import Merged, SlidingAggregates
from millrace.runtime.window_logic import WindowLogic
from millrace.runtime.window_state import other_windows, refuse_other_windows
from millrace.state import table_kinds
from millrace.state.internal_tables import PASSED, SLICE_ACCUMULATORS, SLICE_ELEMENTS
from millrace.state.redistribution_mode import RedistributionMode
from millrace.state.table_kinds import PANES

_PASSED = OperatorStateDeclaration(PASSED, RedistributionMode.UNION)


class SlidingWindowOperator(PaneWindowOperator):
    """Sliding windows with one pane per slide (or per greatest common divisor of size and
    slide)."""

    operator_states = (_PASSED,)
    tables = SLICE_ACCUMULATORS, SLICE_ELEMENTS
    kinds = PANES, table_kinds.SLICE_ELEMENTS

    def __init__(
        self,
        assigner: SlidingEventTimeWindows,
        logic: WindowLogic,
        key_batch: KeyBatch,
        late_tag: OutputTag[Any] | None = None,
    ) -> None:
        super().__init__(assigner, logic, key_batch, late_tag)
        self._size, self._slide, self._offset = assigner.size, assigner.slide, assigner.offset
        self._step = gcd(self._size, self._slide)

    def setup(
        self, context: OperatorContext, output: Output, side: dict[OutputTag[Any], Output]
    ) -> None:
        super().setup(context, output, side)
        self._passed = declared_table(self, _PASSED)
        """The watermark, while there are panes. Windows of some panes have fired, and a job that
        continues with another parallelism, and so without watermarks, must not fire them again. All
        subtasks have the same watermark at the end of an epoch."""

    def open(self) -> None:
        super().open()
        self._oldest: list[int] = []
        """Heap of the panes' starts. Some of the panes may be gone."""
        if self._logic.incremental:
            self._aggregates = SlidingAggregates(
                self._panes, self._step, self._slide, self._logic.merge_function()
            )

    def _panes(self, start: int) -> Merged:
        return self._table.data.get((start, start + self._step), {})

    def _over(self) -> int:
        passed: int = max(self._passed.data.values(), default=MIN_WATERMARK)
        return max(self.watermark, passed)

    def restore(self) -> None:
        refuse_other_windows(self.context, self._place)
        for start, end in self._table.data:
            if end - start != self._step or (start - self._offset) % self._step:
                raise other_windows(self.context.name)
        self._oldest = sorted(pane[0] for pane in self._table.data)
        if self._logic.incremental:
            self._aggregates.forget()

    def end_epoch(self, ended: bool) -> None:
        super().end_epoch(ended)
        place, over = (self.context.subtask_index, 0), self._over()
        for known in list(self._passed.data):
            if known != place or not self._table.data:
                self._passed.remove(known)
        if self._table.data and self._passed.data.get(place) != over:
            self._passed.put(place, over)

    def process(self, values: list[Any], timestamps: list[int] | None) -> None:
        if timestamps is None:
            raise missing_event_time(self.context.name)
        panes = panes_of(values, timestamps, self._step, self._offset)
        keys = self._keys_of(values)
        late = self._add_batch(keys, values, panes)
        if self._logic.incremental:
            self._aggregates.repair(keys, [pane[0] for pane in panes])
        if late:
            self._late.take(self._late_tag, late, values, timestamps)

    def _last_moment(self, pane: Pane) -> int:
        return self._last_start(pane) + self._size - 1

    def _last_start(self, pane: Pane) -> int:
        """Start of the last window with this pane."""
        return pane[0] - (pane[0] - self._offset) % self._slide

    def _add_elements(self, keys: list[Any], values: list[Any], panes: list[Pane]) -> list[int]:
        """Add elements, each with a number, because a window returns its elements in the order
        of arrival."""
        numbered = list(enumerate(values, self._sequence))
        self._sequence += len(values)
        return super()._add_elements(keys, numbered, panes)

    def _schedule(self, pane: Pane) -> None:
        heappush(self._oldest, pane[0])

    def _next_end(self, over: int) -> int | None:
        """End of the first window that has a pane and ends after ``over``."""
        oldest, step = self._oldest, self._step
        while oldest and (oldest[0], oldest[0] + step) not in self._table.data:
            heappop(oldest)
        if not oldest:
            return None
        earliest = max(oldest[0] + 1, over + 2)
        return earliest + (self._offset + self._size - earliest) % self._slide

    def process_watermark(self, timestamp: int) -> None:
        over, self.watermark = self._over(), timestamp
        while (end := self._next_end(over)) is not None and end - 1 <= timestamp:
            self._fire_window(end - self._size, end)
            over = end - 1
        # no pane is in a window that is over, so the parent finds nothing to fire
        super().process_watermark(timestamp)

    def _fire_window(self, start: int, end: int) -> None:
        window = TimeWindow(start, end)
        if self._logic.incremental:
            merged = self._aggregates.window(start, end)
            contents = self._results(merged)
        else:
            contents = self._elements(start, end)
        if contents:
            self._fire(window, contents)
        for pane_start in range(start, min(start + self._slide, end), self._step):
            self._table.drop((pane_start, pane_start + self._step))

    def _results(self, merged: Merged) -> list[tuple[Any, Any]]:
        result = self._result
        if are_immutable(list(merged.values())):
            return [(key, result(accumulator)) for key, accumulator in merged.items()]
        # what is handed out may be changed in place, and the panes are still in use
        return [(key, result(detached(accumulator))) for key, accumulator in merged.items()]

    def _elements(self, start: int, end: int) -> list[tuple[Any, Any]]:
        by_key: dict[Any, list[tuple[int, int, Any]]] = {}
        for pane_start in range(start, end, self._step):
            for (key, epoch), numbered in self._panes(pane_start).items():
                by_key.setdefault(key, []).extend((epoch, n, value) for n, value in numbered)
        order = itemgetter(0, 1)
        return [
            (key, [detached(value) for _, _, value in sorted(elements, key=order)])
            for key, elements in by_key.items()
        ]
