"""Triggers, which decide when a window emits its result (Flink docs, "Windows", section
Triggers)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import Enum
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from millrace.common.functions.metrics import MetricGroup
    from millrace.common.state.descriptors import State, StateDescriptor

__all__ = ["Trigger", "TriggerResult"]

T_contra = TypeVar("T_contra", contravariant=True)
W_contra = TypeVar("W_contra", contravariant=True)


class TriggerResult(Enum):
    """Decision about a window: (emit its result, delete its elements)."""

    CONTINUE = (False, False)
    FIRE_AND_PURGE = (True, True)
    FIRE = (True, False)
    PURGE = (False, True)

    def is_fire(self) -> bool:
        """Whether the window emits."""
        return self.value[0]

    def is_purge(self) -> bool:
        """Whether the window's elements are deleted."""
        return self.value[1]


class Trigger(ABC, Generic[T_contra, W_contra]):
    """Decides when a window of one key emits. A trigger keeps its values in the context, and none
    in itself.
    """

    class TriggerContext(ABC):
        """Clocks, timers and state of the current key and window. Times are ms since the epoch."""

        @abstractmethod
        def get_current_processing_time(self) -> int:
            """Current processing time: the clock of this machine."""

        @abstractmethod
        def get_current_watermark(self) -> int:
            """The event-time watermark."""

        @abstractmethod
        def get_metric_group(self) -> MetricGroup:
            """Metric group of the trigger."""

        @abstractmethod
        def register_processing_time_timer(self, time: int) -> None:
            """Call `Trigger.on_processing_time` at a time."""

        @abstractmethod
        def register_event_time_timer(self, time: int) -> None:
            """Call `Trigger.on_event_time` when the watermark reaches a time."""

        @abstractmethod
        def delete_processing_time_timer(self, time: int) -> None:
            """Delete a processing-time timer."""

        @abstractmethod
        def delete_event_time_timer(self, time: int) -> None:
            """Delete an event-time timer."""

        @abstractmethod
        def get_partitioned_state(self, state_descriptor: StateDescriptor) -> State:
            """State of the current key and window."""

    class OnMergeContext(TriggerContext):
        """Trigger context during a merge of windows, with which the trigger's state can be
        merged."""

        @abstractmethod
        def merge_partitioned_state(self, state_descriptor: StateDescriptor) -> None:
            """Merge a state of all merged windows into the state of the new window."""

    @abstractmethod
    def on_element(
        self, element: T_contra, timestamp: int, window: W_contra, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """Called for every element that is added to the window."""

    @abstractmethod
    def on_processing_time(
        self, time: int, window: W_contra, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """Called when a processing-time timer fires."""

    @abstractmethod
    def on_event_time(
        self, time: int, window: W_contra, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """Called when an event-time timer fires."""

    def can_merge(self) -> bool:
        """Whether the trigger works with merging windows (sessions)."""
        return False

    @abstractmethod
    def on_merge(self, window: W_contra, ctx: Trigger.OnMergeContext) -> None:
        """Called after windows were merged into ``window``; only if `can_merge`."""

    @abstractmethod
    def clear(self, window: W_contra, ctx: Trigger.TriggerContext) -> None:
        """Delete timers and state of the window; called when the window is deleted."""
