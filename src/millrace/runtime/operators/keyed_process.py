"""Keyed process function: state and timers per key."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from millrace.common.functions.base import KeyedProcessFunction
from millrace.common.time.time_domain import TimeDomain
from millrace.common.time.timer_service import TimerService
from millrace.runtime.buffer import MAX_WATERMARK
from millrace.runtime.current_key import CurrentKey
from millrace.runtime.detached import detached
from millrace.runtime.function_operator import FunctionOperator
from millrace.runtime.keyed_state import KeyedStates
from millrace.runtime.produced_records import producing
from millrace.runtime.timers import TimerQueue
from millrace.state.internal_tables import EVENT_TIMERS, PROCESSING_TIMERS
from millrace.state.table_id import TableId
from millrace.state.table_kinds import EVENT_TIMER_QUEUE, PROCESSING_TIMER_QUEUE


class _Timers(TimerService):
    def __init__(self, operator: KeyedProcessOperator) -> None:
        self._operator = operator
        self._current = operator.current
        self._event = operator.event_timers
        self._processing = operator.processing_timers

    def current_processing_time(self) -> int:
        return self._operator.context.clock()

    def current_watermark(self) -> int:
        return self._operator.watermark

    def register_processing_time_timer(self, timestamp: int) -> None:
        self._processing.register(timestamp, self._current.key)

    def register_event_time_timer(self, timestamp: int) -> None:
        self._event.register(timestamp, self._current.key)

    def delete_processing_time_timer(self, timestamp: int) -> None:
        self._processing.delete(timestamp, self._current.key)

    def delete_event_time_timer(self, timestamp: int) -> None:
        self._event.delete(timestamp, self._current.key)


class _KeyedContext(KeyedProcessFunction.OnTimerContext):
    def __init__(self, timers: _Timers, current: CurrentKey) -> None:
        self._timers = timers
        self._current = current
        self.time: int | None = None
        self.domain = TimeDomain.EVENT_TIME

    def get_current_key(self) -> Any:
        return self._current.key

    def timer_service(self) -> TimerService:
        return self._timers

    def timestamp(self) -> int | None:
        return self.time

    def time_domain(self) -> TimeDomain:
        return self.domain


class KeyedProcessOperator(FunctionOperator):
    """Runs a `KeyedProcessFunction`. ``key_batch`` extracts the keys of a batch."""

    def __init__(self, function: Any, key_batch: Callable[[list[Any]], list[Any]]) -> None:
        super().__init__(function)
        self._keys_of = key_batch

    def open(self) -> None:
        state, uid = self.context.state, self.context.uid
        self.current = CurrentKey()
        self.event_timers = TimerQueue(state, TableId(uid, EVENT_TIMERS), EVENT_TIMER_QUEUE)
        self.processing_timers = TimerQueue(
            state, TableId(uid, PROCESSING_TIMERS), PROCESSING_TIMER_QUEUE
        )
        self.keyed_context = _KeyedContext(_Timers(self), self.current)
        self.states = KeyedStates(state, uid, self.current, clock=self.context.clock)
        self.open_function(self.states)
        self.bind()

    def bind(self) -> None:
        """Look up the user's methods."""
        self._element = producing(self.function.process_element)
        self._on_timer = producing(self.function.on_timer)

    def restore(self) -> None:
        self.event_timers.refresh()
        self.processing_timers.refresh()

    def advance_processing_time(self, now: int) -> None:
        self._fire(self.processing_timers, now, TimeDomain.PROCESSING_TIME)

    def process(self, values: list[Any], timestamps: list[int] | None) -> None:
        self.states.records += len(values)
        if timestamps is not None:
            self._process_timed(values, timestamps)
            return
        current, context = self.current, self.keyed_context
        shared = current.shared
        context.time = None
        function = self._element
        results: list[Any] = []
        extend = results.extend
        keys = self._keys_of(values)
        self.states.prefetch(keys)
        for current.key, value in zip(keys, values, strict=True):
            produced = function(value, context)
            if produced is None:
                continue
            if shared:
                extend(map(detached, produced))
                continue
            extend(produced)
            if current.shared:  # as of this record
                shared = True
                results[:] = map(detached, results)
        self.emit_results(results, None)

    def _process_timed(self, values: list[Any], timestamps: list[int]) -> None:
        current, context = self.current, self.keyed_context
        function = self._element
        results: list[Any] = []
        times: list[int] = []
        keys = self._keys_of(values)
        self.states.prefetch(keys)
        for current.key, value, context.time in zip(keys, values, timestamps, strict=True):
            produced = function(value, context)
            if produced is not None:
                self._take(produced, results)
                times.extend([context.time] * (len(results) - len(times)))
        self.emit_results(results, times)

    def _take(self, produced: Iterable[Any], results: list[Any]) -> None:
        """Add the results of a call. Objects that are also in state are copied."""
        shared = self.current.shared
        results.extend(map(detached, produced) if shared else produced)
        if self.current.shared and not shared:  # earlier results may be in state since this call
            results[:] = map(detached, results)

    def process_watermark(self, timestamp: int) -> None:
        self.watermark = timestamp
        self._fire(self.event_timers, timestamp, TimeDomain.EVENT_TIME)
        super().process_watermark(timestamp)

    def next_wakeup(self) -> int | None:
        return None if self.watermark == MAX_WATERMARK else self.processing_timers.earliest()

    def _fire(self, queue: TimerQueue, until: int, domain: TimeDomain) -> None:
        context, current = self.keyed_context, self.current
        context.domain = domain
        results: list[Any] = []
        times: list[int] = []

        def on_timer(timestamp: int, key: Any, namespace: Any) -> None:
            current.key = key
            context.time = timestamp
            produced = self._on_timer(timestamp, context)
            if produced is not None:
                self._take(produced, results)
                times.extend([timestamp] * (len(results) - len(times)))

        queue.fire(until, on_timer)
        if results:
            self.emit_results(results, times)
