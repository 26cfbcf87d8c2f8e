"""Windows on a keyed stream: panes of accumulators, or of elements, fired by the watermark.

A pane holds what one window has of every key of this subtask, so a window fires and is purged as a
whole. Semantics: Flink docs, "Windows" (event-time trigger; a record is late when the watermark has
passed the end of its window).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import Any

from millrace.common.errors import JobExecutionError
from millrace.common.functions import (
    AggregateFunction,
    Function,
    ProcessWindowFunction,
    WindowFunction,
)
from millrace.common.output_tag import OutputTag
from millrace.common.runtime_context import RuntimeContext
from millrace.common.window import TimeWindow, TumblingEventTimeWindows, WindowAssigner
from millrace.runtime.function_operator import FunctionOperator, as_callable
from millrace.runtime.keyed_state import CurrentKey, KeyedStates
from millrace.runtime.metrics import RegisteredGroup
from millrace.runtime.operator import OperatorContext
from millrace.runtime.output import Output
from millrace.runtime.runtime_context import StreamRuntimeContext
from millrace.state.frozen import MISSING, freeze
from millrace.state.nested_table import NestedTable

Pane = tuple[int, int]
"""Start and end of a window, ms since the epoch."""


@dataclass(frozen=True)
class WindowLogic:
    """What is computed per window: an incremental aggregate, a function over it or over the
    elements, or both."""

    aggregate: AggregateFunction[Any, Any, Any] | None = None
    reduce: Any = None
    window_function: Any = None

    @property
    def incremental(self) -> bool:
        """Whether panes hold accumulators rather than elements."""
        return self.aggregate is not None or self.reduce is not None

    def functions(self) -> list[Any]:
        """The user's functions, to open and close."""
        return [f for f in (self.aggregate, self.reduce, self.window_function) if f is not None]


class _Context(ProcessWindowFunction.Context):
    def __init__(self, operator: WindowOperator, current: CurrentKey) -> None:
        state, uid = operator.context.state, operator.context.uid
        self._operator = operator
        self._windowed = CurrentKey()
        self._window_state = KeyedStates(state, f"{uid}/@window", self._windowed, "window-")
        self._global_state = KeyedStates(state, f"{uid}/@global", current)
        self._current = current
        self.time_window = TimeWindow(0, 0)

    def enter(self, key: Any, window: TimeWindow) -> None:
        """Make ``key`` and ``window`` the current ones."""
        self._current.key = key
        self._windowed.key = (window.start, window.end, key)
        self.time_window = window

    def window(self) -> TimeWindow:
        return self.time_window

    def current_processing_time(self) -> int:
        return self._operator.context.clock()

    def current_watermark(self) -> int:
        return self._operator.watermark

    def window_state(self) -> KeyedStates:
        return self._window_state

    def global_state(self) -> KeyedStates:
        return self._global_state


class _AssignerContext(WindowAssigner.WindowAssignerContext):
    def __init__(self, operator: WindowOperator) -> None:
        self._operator = operator

    def get_current_processing_time(self) -> int:
        return self._operator.context.clock()

    def get_runtime_context(self) -> RuntimeContext:
        return self._operator.runtime_context


class WindowOperator(FunctionOperator):
    """Assigns records to windows, keeps their panes, fires them with the watermark."""

    def __init__(
        self,
        assigner: WindowAssigner[Any, TimeWindow],
        logic: WindowLogic,
        key_batch: Callable[[list[Any]], list[Any]],
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
        kind = "panes" if self._logic.incremental else "timers"
        self._table: NestedTable = context.state.table(f"{context.uid}/@panes", kind)

    def open(self) -> None:
        self.current = CurrentKey()
        states = KeyedStates(self.context.state, self.context.uid, self.current)
        self.runtime_context = StreamRuntimeContext(self.context, states)
        for function in self._logic.functions():
            if isinstance(function, Function):
                function.open(self.runtime_context)
        self._context = _Context(self, self.current)
        self._ends: list[tuple[int, Pane]] = []
        self._epoch = 0
        self._add, self._create = self._accumulation()
        self._late_dropped = RegisteredGroup(self.context.metrics).counter("numLateRecordsDropped")

    def close(self) -> None:
        for function in self._logic.functions():
            if isinstance(function, Function):
                with suppress(Exception):
                    function.close()

    def restore(self) -> None:
        self._ends = [(pane[1] - 1, pane) for pane in self._table.data]
        heapify(self._ends)

    def begin_epoch(self, epoch: int, now: int) -> None:
        self._epoch = epoch

    def process(self, values: list[Any], timestamps: list[int] | None) -> None:
        if timestamps is None:
            raise JobExecutionError(
                f"operator '{self.context.name}' is an event-time window but its records carry no "
                "event time; call assign_timestamps_and_watermarks with a timestamp assigner "
                "before it"
            )
        add = self._add_incremental if self._logic.incremental else self._add_elements
        keys = self._keys_of(values)
        if isinstance(self._assigner, TumblingEventTimeWindows):
            late = add(keys, values, timestamps, self._tumbling_starts(timestamps))
        else:
            late = self._add_assigned(add, keys, values, timestamps)
        if late:
            self._emit_late(late, values, timestamps)

    def _tumbling_starts(self, timestamps: list[int]) -> list[Pane]:
        size, offset = self._assigner.size, self._assigner.offset  # type: ignore[attr-defined]
        starts = [time - (time - offset) % size for time in timestamps]
        panes = {start: (start, start + size) for start in set(starts)}
        return [panes[start] for start in starts]

    def _add_assigned(
        self, add: Any, keys: list[Any], values: list[Any], timestamps: list[int]
    ) -> list[int]:
        """Several windows per record: each (record, window) is added; late if all of them are."""
        assign, context = self._assigner.assign_windows, _AssignerContext(self)
        places: list[int] = []
        panes: list[Pane] = []
        for index, value in enumerate(values):
            for window in assign(value, timestamps[index], context):
                places.append(index)
                panes.append((window.start, window.end))
        late = add(
            [keys[i] for i in places],
            [values[i] for i in places],
            [timestamps[i] for i in places],
            panes,
        )
        missed = {places[i] for i in late}
        missed -= {places[i] for i in set(range(len(places))) - set(late)} if missed else set()
        return sorted(missed)

    def _add_incremental(
        self, keys: list[Any], values: list[Any], timestamps: list[int], panes: list[Pane]
    ) -> list[int]:
        add, create = self._add, self._create
        late: list[int] = []
        last: Pane | None = None
        entries: dict[Any, Any] = {}
        undo: dict[Any, Any] = {}
        in_time = True
        for index, (key, value, pane) in enumerate(zip(keys, values, panes, strict=True)):
            if pane is not last:
                last = pane
                in_time = pane[1] - 1 > self.watermark
                if in_time:
                    entries, undo = self._open_pane(pane)
            if not in_time:
                late.append(index)
            elif key in undo:
                entries[key] = add(value, entries[key])
            elif key in entries:
                old = entries[key]
                undo[key] = freeze(old)
                entries[key] = add(value, old)
            else:
                undo[key] = MISSING
                entries[key] = create(value)
        return late

    def _add_elements(
        self, keys: list[Any], values: list[Any], timestamps: list[int], panes: list[Pane]
    ) -> list[int]:
        """Elements are kept per key and epoch, so an epoch's delta holds only its own."""
        late: list[int] = []
        epoch = self._epoch
        for index, (key, value, pane) in enumerate(zip(keys, values, panes, strict=True)):
            if pane[1] - 1 <= self.watermark:
                late.append(index)
                continue
            entries, undo = self._open_pane(pane)
            place = (key, epoch)
            if place in entries:
                entries[place].append(value)
            else:
                undo[place] = MISSING
                entries[place] = [value]
        return late

    def _open_pane(self, pane: Pane) -> tuple[dict[Any, Any], dict[Any, Any]]:
        if pane not in self._table.data:
            heappush(self._ends, (pane[1] - 1, pane))
        return self._table.pane(pane)

    def _accumulation(self) -> tuple[Callable[..., Any], Callable[..., Any]]:
        """(value, accumulator) -> accumulator, and first value -> accumulator."""
        aggregate = self._logic.aggregate
        if aggregate is not None:
            add, create = aggregate.add, aggregate.create_accumulator
            return add, lambda value: add(value, create())
        if self._logic.reduce is not None:
            reduce = as_callable(self._logic.reduce, "reduce")
            return (lambda value, so_far: reduce(so_far, value)), lambda value: value
        return (lambda value, so_far: so_far), lambda value: value

    def process_watermark(self, timestamp: int) -> None:
        self.watermark = timestamp
        while self._ends and self._ends[0][0] <= timestamp:
            _, pane = heappop(self._ends)
            entries = self._table.drop(pane)
            if entries:
                self._fire(TimeWindow(*pane), entries)
        super().process_watermark(timestamp)

    def _fire(self, window: TimeWindow, entries: dict[Any, Any]) -> None:
        results: list[Any] = []
        contents = self._contents(entries)
        function = self._logic.window_function
        if function is None:
            results = [value for _, value in contents]
        elif isinstance(function, WindowFunction):
            for key, value in contents:
                self.current.key = key
                results.extend(function.apply(key, window, self._as_list(value)) or ())
        else:
            self._fire_process(window, contents, results)
        self.emit_results(results, [window.max_timestamp()] * len(results))

    def _fire_process(
        self, window: TimeWindow, contents: list[tuple[Any, Any]], results: list[Any]
    ) -> None:
        function, context = self._logic.window_function, self._context
        is_object = isinstance(function, Function)
        call = function.process if is_object else function
        for key, value in contents:
            context.enter(key, window)
            produced = call(key, context, self._as_list(value))
            if produced is not None:
                results.extend(produced)
            if is_object:
                function.clear(context)

    def _as_list(self, value: Any) -> list[Any]:
        return [value] if self._logic.incremental else value

    def _contents(self, entries: dict[Any, Any]) -> list[tuple[Any, Any]]:
        """Per key, what the window has: the aggregate's result, or the list of elements."""
        if self._logic.aggregate is not None:
            result = self._logic.aggregate.get_result
            return [(key, result(accumulator)) for key, accumulator in entries.items()]
        if self._logic.reduce is not None:
            return list(entries.items())
        elements: dict[Any, list[Any]] = {}
        # by epoch: a restored pane does not hold its entries in the order they came
        for (key, _), values in sorted(entries.items(), key=_epoch_of):
            elements.setdefault(key, []).extend(values)
        return list(elements.items())

    def _emit_late(self, late: list[int], values: list[Any], timestamps: list[int]) -> None:
        if self._late_tag is None:
            self._late_dropped.inc(len(late))
            return
        side = self.side_output(self._late_tag)
        side.emit([values[i] for i in late], [timestamps[i] for i in late])


def _epoch_of(entry: tuple[tuple[Any, int], Any]) -> int:
    return entry[0][1]
