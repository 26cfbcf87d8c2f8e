"""Context of triggers: clocks, timers and state of the current key and window."""

from __future__ import annotations

from typing import Any

from millrace.common.errors import StateError
from millrace.common.functions.metrics import MetricGroup
from millrace.common.state.descriptors import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
)
from millrace.common.window.evictor import Evictor
from millrace.common.window.trigger import Trigger
from millrace.runtime.current_key import CurrentKey
from millrace.runtime.keyed_state import KeyedStates
from millrace.runtime.metrics import RegisteredGroup
from millrace.runtime.operator import Operator
from millrace.runtime.state_scope import TRIGGER
from millrace.runtime.timers import TimerQueue
from millrace.runtime.window_logic import namespace_of


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
