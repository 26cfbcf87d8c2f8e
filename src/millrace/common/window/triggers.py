"""The built-in triggers (Flink docs, "Windows", section Built-in and Custom Triggers)."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any, ClassVar, Generic, TypeVar, cast

from millrace.common.errors import JobDefinitionError
from millrace.common.functions.base import ReduceFunction
from millrace.common.state.descriptors import (
    ReducingState,
    ReducingStateDescriptor,
    ValueState,
    ValueStateDescriptor,
)
from millrace.common.time.amounts import Duration, Time, millis
from millrace.common.time.watermark_generator import MAX_WATERMARK
from millrace.common.types.typeinfo import Types
from millrace.common.window.time_window import TimeWindow
from millrace.common.window.trigger import Trigger, TriggerResult

__all__ = [
    "ContinuousEventTimeTrigger",
    "ContinuousProcessingTimeTrigger",
    "CountTrigger",
    "DeltaTrigger",
    "EventTimeTrigger",
    "Min",
    "NeverTrigger",
    "ProcessingTimeTrigger",
    "PurgingTrigger",
]

T = TypeVar("T")
W = TypeVar("W")


class Min(ReduceFunction[int]):
    """Minimum of two numbers, with which triggers keep the time of their earliest timer.

    Example:
        >>> Min().reduce(2, 1)
        1
    """

    def reduce(self, value1: int, value2: int) -> int:
        return min(value1, value2)


class QuietTrigger(Trigger[Any, Any]):
    """Trigger that does nothing. Subclasses override some of its methods."""

    def on_element(
        self, element: Any, timestamp: int, window: Any, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_processing_time(
        self, time: int, window: Any, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: Any, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_merge(self, window: Any, ctx: Trigger.OnMergeContext) -> None:
        """Do nothing."""

    def clear(self, window: Any, ctx: Trigger.TriggerContext) -> None:
        """Do nothing."""


class EventTimeTrigger(Trigger[Any, TimeWindow]):
    """Fires when the watermark passes the end of the window."""

    @staticmethod
    def create() -> EventTimeTrigger:
        """A new trigger of this kind."""
        return EventTimeTrigger()

    def on_element(
        self, element: Any, timestamp: int, window: TimeWindow, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        if window.max_timestamp() <= ctx.get_current_watermark():
            return TriggerResult.FIRE
        ctx.register_event_time_timer(window.max_timestamp())
        return TriggerResult.CONTINUE

    def on_processing_time(
        self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_event_time(
        self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        return TriggerResult.FIRE if time == window.max_timestamp() else TriggerResult.CONTINUE

    def can_merge(self) -> bool:
        return True

    def on_merge(self, window: TimeWindow, ctx: Trigger.OnMergeContext) -> None:
        # At or before the watermark, `on_element` fires the merged window at once.
        if window.max_timestamp() > ctx.get_current_watermark():
            ctx.register_event_time_timer(window.max_timestamp())

    def clear(self, window: TimeWindow, ctx: Trigger.TriggerContext) -> None:
        ctx.delete_event_time_timer(window.max_timestamp())

    def __repr__(self) -> str:
        return "EventTimeTrigger()"


class ProcessingTimeTrigger(QuietTrigger):
    """Fires when the machine's clock passes the end of the window."""

    @staticmethod
    def create() -> ProcessingTimeTrigger:
        """A new trigger of this kind."""
        return ProcessingTimeTrigger()

    def on_element(
        self, element: Any, timestamp: int, window: Any, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        ctx.register_processing_time_timer(window.max_timestamp())
        return TriggerResult.CONTINUE

    def on_processing_time(
        self, time: int, window: Any, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        return TriggerResult.FIRE

    def can_merge(self) -> bool:
        return True

    def on_merge(self, window: Any, ctx: Trigger.OnMergeContext) -> None:
        # A timer that is due already would fire at the next epoch; `on_element` sets it as well.
        if window.max_timestamp() > ctx.get_current_processing_time():
            ctx.register_processing_time_timer(window.max_timestamp())

    def clear(self, window: Any, ctx: Trigger.TriggerContext) -> None:
        ctx.delete_processing_time_timer(window.max_timestamp())

    def __repr__(self) -> str:
        return "ProcessingTimeTrigger()"


class NeverTrigger(QuietTrigger):
    """Never fires; it is the default trigger of `GlobalWindows`."""

    def can_merge(self) -> bool:
        return True

    def __repr__(self) -> str:
        return "NeverTrigger()"


class _ContinuousTrigger(QuietTrigger):
    """Fires at every full interval while the window exists."""

    STATE: ClassVar[ReducingStateDescriptor[int]] = ReducingStateDescriptor(
        "fire-time", min, Types.LONG()
    )

    def __init__(self, interval: int) -> None:
        if interval <= 0:
            raise JobDefinitionError(
                f"{type(self).__name__} needs an interval > 0 ms, got {interval}"
            )
        self.interval = interval

    def _next(self, ctx: Trigger.TriggerContext) -> ReducingState[int]:
        return cast("ReducingState[int]", ctx.get_partitioned_state(self.STATE))

    def _register(self, time: int, ctx: Trigger.TriggerContext) -> None:
        """Register a timer on the trigger's clock."""
        raise NotImplementedError

    def _delete(self, time: int, ctx: Trigger.TriggerContext) -> None:
        """Delete a timer on the trigger's clock."""
        raise NotImplementedError

    def register_next_fire_timestamp(
        self,
        time: int,
        window: Any,
        ctx: Trigger.TriggerContext,
        fire_timestamp_state: ReducingState[int],
    ) -> None:
        """Fire one interval after ``time``, or at the window's end if that is sooner."""
        raise NotImplementedError

    def _on_time(self, time: int, window: Any, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Handle a timer of the trigger's clock."""
        state = self._next(ctx)
        if state.get() != time:
            return TriggerResult.CONTINUE
        state.clear()
        self.register_next_fire_timestamp(time, window, ctx, state)
        return TriggerResult.FIRE

    def on_merge(self, window: Any, ctx: Trigger.OnMergeContext) -> None:
        ctx.merge_partitioned_state(self.STATE)
        time = self._next(ctx).get()
        if time is not None:
            self._register(time, ctx)

    def clear(self, window: Any, ctx: Trigger.TriggerContext) -> None:
        state = self._next(ctx)
        time = state.get()
        if time is not None:
            self._delete(time, ctx)
            state.clear()

    def can_merge(self) -> bool:
        return True

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.interval})"


class ContinuousEventTimeTrigger(_ContinuousTrigger):
    """Fires at every full interval of event time, and at the end of the window.

    Example:
        >>> ContinuousEventTimeTrigger.of(Time.seconds(5))
        ContinuousEventTimeTrigger(5000)
    """

    @staticmethod
    def of(interval: Time | Duration | int) -> ContinuousEventTimeTrigger:
        """Fire every ``interval``."""
        return ContinuousEventTimeTrigger(millis(interval))

    def on_element(
        self, element: Any, timestamp: int, window: Any, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        if window.max_timestamp() <= ctx.get_current_watermark():
            return TriggerResult.FIRE
        ctx.register_event_time_timer(window.max_timestamp())
        state = self._next(ctx)
        if state.get() is None:
            start = timestamp - timestamp % self.interval
            self.register_next_fire_timestamp(start, window, ctx, state)
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: Any, ctx: Trigger.TriggerContext) -> TriggerResult:
        if time == window.max_timestamp():
            return TriggerResult.FIRE
        return self._on_time(time, window, ctx)

    def _register(self, time: int, ctx: Trigger.TriggerContext) -> None:
        ctx.register_event_time_timer(time)

    def _delete(self, time: int, ctx: Trigger.TriggerContext) -> None:
        ctx.delete_event_time_timer(time)

    def register_next_fire_timestamp(
        self,
        time: int,
        window: Any,
        ctx: Trigger.TriggerContext,
        fire_timestamp_state: ReducingState[int],
    ) -> None:
        """Fire one interval after ``time``, or at the window's end if that is sooner. A window
        that never ends fires once when the input has ended."""
        end: int = window.max_timestamp()
        ended = end == MAX_WATERMARK == ctx.get_current_watermark()
        at = end if ended else min(time + self.interval, end)
        fire_timestamp_state.add(at)
        ctx.register_event_time_timer(at)


class ContinuousProcessingTimeTrigger(_ContinuousTrigger):
    """Fires at every full interval of the machine's clock."""

    @staticmethod
    def of(interval: Time | Duration | int) -> ContinuousProcessingTimeTrigger:
        """Fire every ``interval``."""
        return ContinuousProcessingTimeTrigger(millis(interval))

    def on_element(
        self, element: Any, timestamp: int, window: Any, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        state = self._next(ctx)
        if state.get() is None:
            now = ctx.get_current_processing_time()
            self.register_next_fire_timestamp(now - now % self.interval, window, ctx, state)
        return TriggerResult.CONTINUE

    def on_processing_time(
        self, time: int, window: Any, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        return self._on_time(time, window, ctx)

    def _register(self, time: int, ctx: Trigger.TriggerContext) -> None:
        ctx.register_processing_time_timer(time)

    def _delete(self, time: int, ctx: Trigger.TriggerContext) -> None:
        ctx.delete_processing_time_timer(time)

    def register_next_fire_timestamp(
        self,
        time: int,
        window: Any,
        ctx: Trigger.TriggerContext,
        fire_timestamp_state: ReducingState[int],
    ) -> None:
        """Fire one interval after ``time``, or at the window's end if that is sooner."""
        at = min(time + self.interval, window.max_timestamp())
        if at <= time:  # the end has been reached: there is no next time
            return
        fire_timestamp_state.add(at)
        ctx.register_processing_time_timer(at)


class CountTrigger(QuietTrigger):
    """Fires after every ``window_size`` records; the window keeps them unless it is purged."""

    COUNT: ClassVar[ReducingStateDescriptor[int]] = ReducingStateDescriptor(
        "count", lambda a, b: a + b, Types.LONG()
    )

    def __init__(self, window_size: int) -> None:
        if window_size <= 0:
            raise JobDefinitionError(f"CountTrigger needs a count > 0, got {window_size}")
        self.window_size = window_size

    @staticmethod
    def of(window_size: int) -> CountTrigger:
        """Fire every ``window_size`` records."""
        return CountTrigger(window_size)

    def on_element(
        self, element: Any, timestamp: int, window: Any, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        count = cast("ReducingState[int]", ctx.get_partitioned_state(self.COUNT))
        count.add(1)
        if (count.get() or 0) < self.window_size:
            return TriggerResult.CONTINUE
        count.clear()
        return TriggerResult.FIRE

    def can_merge(self) -> bool:
        return True

    def on_merge(self, window: Any, ctx: Trigger.OnMergeContext) -> None:
        ctx.merge_partitioned_state(self.COUNT)

    def clear(self, window: Any, ctx: Trigger.TriggerContext) -> None:
        ctx.get_partitioned_state(self.COUNT).clear()

    def __repr__(self) -> str:
        return f"CountTrigger({self.window_size})"


class DeltaTrigger(QuietTrigger):
    """Fires when the distance between a record and the record that fired last exceeds
    ``threshold``. Before the first firing, the distance from the first record is used.

    Args:
        threshold: the distance that must be exceeded.
        delta_function: (old record, new record) -> distance.

    Example:
        >>> DeltaTrigger.of(10.0, lambda old, new: new - old)
        DeltaTrigger(10.0)
    """

    LAST: ClassVar[ValueStateDescriptor[Any]] = ValueStateDescriptor(
        "last-element", Types.PICKLED_BYTE_ARRAY()
    )

    def __init__(self, threshold: float, delta_function: Callable[[Any, Any], float]) -> None:
        if not callable(delta_function):
            raise JobDefinitionError(
                f"DeltaTrigger needs a function of two records, got {delta_function!r}"
            )
        self.threshold = threshold
        self.delta_function = delta_function

    @staticmethod
    def of(threshold: float, delta_function: Callable[[Any, Any], float]) -> DeltaTrigger:
        """Fire when the distance exceeds ``threshold``."""
        return DeltaTrigger(threshold, delta_function)

    def on_element(
        self, element: Any, timestamp: int, window: Any, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        state = cast("ValueState[Any]", ctx.get_partitioned_state(self.LAST))
        last = state.value()
        # a copy, for the window's function may change the record in place
        if last is None:
            state.update(deepcopy(element))
            return TriggerResult.CONTINUE
        if self.delta_function(last, element) > self.threshold:
            state.update(deepcopy(element))
            return TriggerResult.FIRE
        return TriggerResult.CONTINUE

    def clear(self, window: Any, ctx: Trigger.TriggerContext) -> None:
        ctx.get_partitioned_state(self.LAST).clear()

    def __repr__(self) -> str:
        return f"DeltaTrigger({self.threshold})"


class PurgingTrigger(Trigger[T, W], Generic[T, W]):
    """Makes another trigger delete the window's records whenever it fires.

    Example:
        >>> PurgingTrigger.of(CountTrigger.of(3))
        PurgingTrigger(CountTrigger(3))
    """

    def __init__(self, nested_trigger: Trigger[T, W]) -> None:
        if not isinstance(nested_trigger, Trigger):
            raise JobDefinitionError(f"PurgingTrigger wraps a Trigger, got {nested_trigger!r}")
        self.nested_trigger = nested_trigger

    @staticmethod
    def of(nested_trigger: Trigger[T, W]) -> PurgingTrigger[T, W]:
        """Fire and purge when ``nested_trigger`` fires."""
        return PurgingTrigger(nested_trigger)

    def on_element(
        self, element: T, timestamp: int, window: W, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        return _purging(self.nested_trigger.on_element(element, timestamp, window, ctx))

    def on_processing_time(
        self, time: int, window: W, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        return _purging(self.nested_trigger.on_processing_time(time, window, ctx))

    def on_event_time(self, time: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        return _purging(self.nested_trigger.on_event_time(time, window, ctx))

    def can_merge(self) -> bool:
        return self.nested_trigger.can_merge()

    def on_merge(self, window: W, ctx: Trigger.OnMergeContext) -> None:
        self.nested_trigger.on_merge(window, ctx)

    def clear(self, window: W, ctx: Trigger.TriggerContext) -> None:
        self.nested_trigger.clear(window, ctx)

    def __repr__(self) -> str:
        return f"PurgingTrigger({self.nested_trigger!r})"


def _purging(result: TriggerResult) -> TriggerResult:
    return TriggerResult.FIRE_AND_PURGE if result.is_fire() else result
