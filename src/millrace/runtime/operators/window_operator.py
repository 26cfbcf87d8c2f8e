"""Windows of every kind on a keyed stream, with any assigner, trigger, evictor and lateness.

Semantics: Flink docs, "Windows"; per key and window, exactly what Flink's ``WindowOperator`` does.
Where neither trigger, evictor, lateness nor merging is asked for, `PaneWindowOperator` does the
same for whole panes at once, and much faster.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from millrace.common.errors import JobExecutionError, StateError
from millrace.common.functions.metrics import MetricGroup
from millrace.common.functions.output_tag import OutputTag
from millrace.common.state.descriptors import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
)
from millrace.common.window import MergingWindowAssigner, Trigger, TriggerResult, WindowAssigner
from millrace.common.window.evictor import Evictor, TimestampedValue
from millrace.runtime.buffer import MAX_WATERMARK
from millrace.runtime.current_key import CurrentKey
from millrace.runtime.detached import detached
from millrace.runtime.function_operator import FunctionOperator
from millrace.runtime.keyed_state import KeyedStates
from millrace.runtime.late_records import LateRecords
from millrace.runtime.merging_window_set import MergingWindowSet
from millrace.runtime.metrics import RegisteredGroup
from millrace.runtime.operator import Operator
from millrace.runtime.state_scope import TRIGGER
from millrace.runtime.timers import TimerQueue
from millrace.runtime.window_contents import (
    AccumulatorContents,
    Contents,
    ElementContents,
    EvictableContents,
)
from millrace.runtime.window_logic import WindowEvaluation, WindowLogic, namespace_of, window_of
from millrace.runtime.window_state import refuse_other_windows
from millrace.state.internal_tables import EVENT_TIMERS, MERGING, PROCESSING_TIMERS
from millrace.state.table_id import TableId
from millrace.state.table_kinds import EVENT_TIMER_QUEUE, MAP, PROCESSING_TIMER_QUEUE


@dataclass(frozen=True)
class WindowSpec:
    """Settings of windows: assigner, trigger, evictor and lateness."""

    assigner: WindowAssigner[Any, Any]
    trigger: Trigger[Any, Any]
    evictor: Evictor[Any, Any] | None = None
    allowed_lateness: int = 0
    """Milliseconds after its end for which an event-time window is kept."""
    late_tag: OutputTag[Any] | None = None
    share_panes: bool | None = None
    """See `WindowLogic.share_panes`."""


class WindowOperator(FunctionOperator):
    """Processes windows record by record."""

    def __init__(
        self,
        spec: WindowSpec,
        logic: WindowLogic,
        key_batch: Callable[[list[Any]], list[Any]],
    ) -> None:
        super().__init__(logic.window_function)
        self._spec = spec
        self._logic = logic
        self._keys_of = key_batch

    def open(self) -> None:
        state, uid = self.context.state, self.context.uid
        merging = isinstance(self._spec.assigner, MergingWindowAssigner)
        self._evaluation = WindowEvaluation(self, self._logic, merging)
        self._event = TimerQueue(state, TableId(uid, EVENT_TIMERS), EVENT_TIMER_QUEUE)
        self._processing = TimerQueue(
            state, TableId(uid, PROCESSING_TIMERS), PROCESSING_TIMER_QUEUE
        )
        self._triggering = WindowTriggerContext(self, self._event, self._processing)
        self._contents = self._make_contents()
        self._merging = self._make_merging()
        self._event_time = self._spec.assigner.is_event_time()
        self._late = LateRecords(self)
        self._results: list[Any] = []
        self._times: list[int] = []

    def _make_contents(self) -> Contents:
        state, uid = self.context.state, self.context.uid
        if self._spec.evictor is not None:
            return EvictableContents(state, uid)
        if self._logic.incremental:
            return AccumulatorContents(state, uid, self._logic)
        return ElementContents(state, uid)

    def _make_merging(self) -> MergingWindowSet | None:
        assigner = self._spec.assigner
        if not isinstance(assigner, MergingWindowAssigner):
            return None
        table = self.context.state.table(TableId(self.context.uid, MERGING), MAP)
        return MergingWindowSet(assigner, table)

    def close(self) -> None:
        self._evaluation.close()

    def restore(self) -> None:
        refuse_other_windows(self.context, self._contents.name, self._merging is not None)
        self._event.refresh()
        self._processing.refresh()

    def next_wakeup(self) -> int | None:
        earliest = self._processing.earliest()
        return None if earliest is None or self.watermark == MAX_WATERMARK else earliest + 1

    # -- records -----------------------------------------------------------------------

    def process(self, values: list[Any], timestamps: list[int] | None) -> None:
        if timestamps is None and self._event_time:
            raise missing_event_time(self.context.name)
        assign = self._spec.assigner.assign_windows
        current, context = self._evaluation.current, self._evaluation.assigner_context
        take = self._take if self._merging is None else self._take_merging
        late: list[int] = []
        for index, (key, value) in enumerate(zip(self._keys_of(values), values, strict=True)):
            current.key = key
            time = None if timestamps is None else timestamps[index]
            # an assigner of other than event time does not look at it
            windows = assign(value, time, context)  # type: ignore[arg-type]
            if not take(key, value, time, windows) and self._is_late(time):
                late.append(index)
        self._emit()
        if late:
            assert timestamps is not None
            self._late.take(self._spec.late_tag, late, values, timestamps)

    def _take(self, key: Any, value: Any, time: int | None, windows: Any) -> bool:
        """Add a record to its windows. False if all of them are late."""
        taken = False
        for window in windows:
            if self._is_window_late(window):
                continue
            # an accumulator may hold on to a record and change it: then each window has its own
            added = detached(value) if taken and self._logic.incremental else value
            taken = True
            self._contents.add(key, window, added, time)
            self._on_element(key, value, time, window, window)
        return taken

    def _take_merging(self, key: Any, value: Any, time: int | None, windows: Any) -> bool:
        merging = self._merging
        assert merging is not None
        taken = False
        for assigned in windows:
            window = merging.add(key, assigned, lambda *merged: self._on_merge(key, *merged))
            if self._is_window_late(window):
                merging.retire(key, window)
                continue
            taken = True
            state_window = merging.state_window(key, window)
            self._contents.add(key, state_window, value, time)
            self._on_element(key, value, time, window, state_window)
        return taken

    def _on_element(
        self, key: Any, value: Any, time: int | None, window: Any, state_window: Any
    ) -> None:
        self._triggering.enter(key, window)
        # as Flink, where a record without an event time has the least one
        at = -(2**63) if time is None else time
        result = self._spec.trigger.on_element(value, at, window, self._triggering)
        self._act(result, key, window, state_window)
        cleanup = self._cleanup_time(window)
        if cleanup < MAX_WATERMARK:
            self._triggering.enter(key, window)
            self._register(cleanup)

    def _on_merge(
        self, key: Any, result: Any, merged: list[Any], state_window: Any, others: list[Any]
    ) -> None:
        if self._is_window_late(result):
            raise JobExecutionError(
                f"operator '{self.context.name}' merged windows into {result!r}, which ends before "
                f"the watermark ({self.watermark}); a merged window must not end before its parts"
            )
        trigger, triggering = self._spec.trigger, self._triggering
        triggering.enter(key, result, merged)
        trigger.on_merge(result, triggering)
        for window in merged:
            triggering.enter(key, window)
            trigger.clear(window, triggering)
            self._delete(self._cleanup_time(window))
        self._contents.merge(key, state_window, others)

    # -- time --------------------------------------------------------------------------

    def process_watermark(self, timestamp: int) -> None:
        self.watermark = timestamp
        self._event.fire(timestamp, self._on_event_time)
        self._emit()
        super().process_watermark(timestamp)

    def advance_processing_time(self, now: int) -> None:
        # As in Flink a timer fires when its millisecond is over: in the last one of a window,
        # records of this epoch still belong to it.
        self._processing.fire(now - 1, self._on_processing_time)
        self._emit()

    def _on_event_time(self, time: int, key: Any, namespace: Any) -> None:
        on_time = self._spec.trigger.on_event_time
        self._on_timer(time, key, window_of(namespace), on_time, self._event_time)

    def _on_processing_time(self, time: int, key: Any, namespace: Any) -> None:
        on_time = self._spec.trigger.on_processing_time
        self._on_timer(time, key, window_of(namespace), on_time, not self._event_time)

    def _on_timer(
        self,
        time: int,
        key: Any,
        window: Any,
        on_time: Callable[[int, Any, Any], TriggerResult],
        own_domain: bool,
    ) -> None:
        state_window = window
        if self._merging is not None:
            state_window = self._merging.state_window(key, window)
            if state_window is None:  # it has become part of another
                return
        self._evaluation.current.key = key
        self._triggering.enter(key, window)
        self._act(on_time(time, window, self._triggering), key, window, state_window)
        if own_domain and time == self._cleanup_time(window):
            self._clear_all(key, window, state_window)

    def _act(self, result: TriggerResult, key: Any, window: Any, state_window: Any) -> None:
        if result is TriggerResult.CONTINUE:
            return
        if not isinstance(result, TriggerResult):
            raise JobExecutionError(
                f"{self._spec.trigger!r} of operator '{self.context.name}' gave {result!r}; its "
                "methods on_element, on_event_time and on_processing_time return a TriggerResult"
            )
        if result.is_fire():
            self._fire(key, window, state_window)
        if result.is_purge():
            self._contents.clear(key, state_window)

    def _clear_all(self, key: Any, window: Any, state_window: Any) -> None:
        self._contents.clear(key, state_window)
        self._triggering.enter(key, window)
        self._spec.trigger.clear(window, self._triggering)
        self._evaluation.clear(key, window)
        if self._merging is not None:
            self._merging.retire(key, window)

    # -- results -----------------------------------------------------------------------

    def _fire(self, key: Any, window: Any, state_window: Any) -> None:
        contents = self._contents
        if isinstance(contents, EvictableContents):
            self._fire_evicting(contents, key, window, state_window)
            return
        value = contents.get(key, state_window)
        if value is not None:
            self._evaluate(key, window, value)

    def _fire_evicting(
        self, contents: EvictableContents, key: Any, window: Any, state_window: Any
    ) -> None:
        evictor, context = self._spec.evictor, self._triggering
        assert evictor is not None
        elements = contents.elements(key, state_window)
        if elements is None:
            return
        kept = _kept(evictor.evict_before, list(elements), window, context)
        self._evaluate(key, window, self._aggregated([element.value for element in kept]))
        kept = _kept(evictor.evict_after, kept, window, context)
        if len(kept) != len(elements) or any(map(operator.is_not, kept, elements)):
            contents.replace(key, state_window, [TimestampedValue(*element) for element in kept])

    def _aggregated(self, values: list[Any]) -> list[Any]:
        """Aggregate of all values. It cannot be kept incrementally, since an evictor may remove
        elements."""
        if not self._logic.incremental:
            return values
        if not values:
            return []
        add, create = self._logic.accumulate_functions()
        accumulator = create(values[0])
        for value in values[1:]:
            accumulator = add(value, accumulator)
        return [self._logic.result_function()(accumulator)]

    def _evaluate(self, key: Any, window: Any, elements: list[Any]) -> None:
        results = self._results
        self._evaluation.evaluate(key, window, elements, results)
        self._times.extend([window.max_timestamp()] * (len(results) - len(self._times)))

    def _emit(self) -> None:
        if self._results:
            results, times = self._results, self._times
            self._results, self._times = [], []
            self.emit_results(results, times)

    # -- late --------------------------------------------------------------------------

    def _cleanup_time(self, window: Any) -> int:
        """Time at which the window is deleted, in ms since the epoch."""
        end: int = window.max_timestamp()
        if self._event_time:
            end = min(end + self._spec.allowed_lateness, MAX_WATERMARK)
        return end

    def _is_window_late(self, window: Any) -> bool:
        return self._event_time and self._cleanup_time(window) <= self.watermark

    def _is_late(self, time: int | None) -> bool:
        if not self._event_time or time is None:
            return False
        return time + self._spec.allowed_lateness <= self.watermark

    def _register(self, time: int) -> None:
        if self._event_time:
            self._triggering.register_event_time_timer(time)
        else:
            self._triggering.register_processing_time_timer(time)

    def _delete(self, time: int) -> None:
        if self._event_time:
            self._triggering.delete_event_time_timer(time)
        else:
            self._triggering.delete_processing_time_timer(time)


def _kept(
    evict: Callable[..., list[TimestampedValue] | None],
    elements: list[TimestampedValue],
    window: Any,
    context: WindowTriggerContext,
) -> list[TimestampedValue]:
    """Call the evictor, and return the elements left: the function's result, or the list that it
    changed."""
    left = evict(elements, len(elements), window, context)
    return elements if left is None else list(left)


def missing_event_time(name: str) -> JobExecutionError:
    """Error about records without event times in an event-time window."""
    return JobExecutionError(
        f"operator '{name}' is an event-time window but its records carry no event time; call "
        "assign_timestamps_and_watermarks with a timestamp assigner before it"
    )


class WindowTriggerContext(Trigger.OnMergeContext, Evictor.EvictorContext):
    """Context of an operator's triggers and evictors. `enter` sets the current key and window."""

    def __init__(self, operator: Operator, event: TimerQueue, processing: TimerQueue) -> None:
        context = operator.context
        self._operator = operator
        self._event = event
        self._processing = processing
        self._windowed = CurrentKey()
        self._states = KeyedStates(context.state, context.uid, self._windowed, TRIGGER)
        self._bound: dict[tuple[str, str], Any] = {}
        self._key: Any = None
        self._namespace: Any = None
        self._merged: list[Any] = []

    def enter(self, key: Any, window: Any, merged: list[Any] | None = None) -> None:
        """Set the current key and window. ``merged`` are the windows that were merged into
        ``window``."""
        self._key = key
        self._namespace = namespace_of(window)
        self._windowed.key = (self._namespace, key)
        if merged is not None:
            self._merged = merged

    def get_current_processing_time(self) -> int:
        return self._operator.context.clock()

    def get_current_watermark(self) -> int:
        return self._operator.watermark

    def get_metric_group(self) -> MetricGroup:
        return RegisteredGroup(self._operator.context.metrics)

    def register_processing_time_timer(self, time: int) -> None:
        self._processing.register(time, self._key, self._namespace)

    def register_event_time_timer(self, time: int) -> None:
        self._event.register(time, self._key, self._namespace)

    def delete_processing_time_timer(self, time: int) -> None:
        self._processing.delete(time, self._key, self._namespace)

    def delete_event_time_timer(self, time: int) -> None:
        self._event.delete(time, self._key, self._namespace)

    def get_partitioned_state(self, state_descriptor: StateDescriptor) -> Any:
        known = state_descriptor.kind, state_descriptor.name
        state = self._bound.get(known)
        if state is None:
            state = self._bound[known] = self._states.get_any(state_descriptor)
        return state

    def merge_partitioned_state(self, state_descriptor: StateDescriptor) -> None:
        state = self.get_partitioned_state(state_descriptor)
        if not isinstance(
            state_descriptor,
            (ReducingStateDescriptor, AggregatingStateDescriptor, ListStateDescriptor),
        ):
            raise StateError(
                f"a trigger cannot merge {state_descriptor!r}: only list, reducing and aggregating "
                "state can be merged"
            )
        target = self._windowed.key
        for window in self._merged:
            self._windowed.key = (namespace_of(window), self._key)
            state.move_to(target)
        self._windowed.key = target
