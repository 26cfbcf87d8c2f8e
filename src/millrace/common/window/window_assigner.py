"""Window assigners, which determine the windows of a record (Flink docs, "Windows")."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from millrace.common.errors import JobDefinitionError, JobExecutionError
from millrace.common.time.amounts import Duration, Time, millis
from millrace.common.time.watermark_generator import MIN_WATERMARK
from millrace.common.window.time_window import TimeWindow, TimeWindowSerializer
from millrace.common.window.trigger import Trigger
from millrace.common.window.triggers import EventTimeTrigger, ProcessingTimeTrigger

if TYPE_CHECKING:
    from millrace.common.functions.runtime_context import RuntimeContext
    from millrace.common.types.serializer import TypeSerializer

__all__ = ["SlidingEventTimeWindows", "TumblingEventTimeWindows", "WindowAssigner"]

T_contra = TypeVar("T_contra", contravariant=True)
W = TypeVar("W")
Amount = Duration | Time | timedelta | int


class WindowAssigner(ABC, Generic[T_contra, W]):
    """Puts each record into any number of windows."""

    class WindowAssignerContext(ABC):
        """Processing time and runtime context for an assigner."""

        @abstractmethod
        def get_current_processing_time(self) -> int:
            """The machine's time, ms since the epoch."""

        @abstractmethod
        def get_runtime_context(self) -> RuntimeContext:
            """The subtask's context."""

    @abstractmethod
    def assign_windows(
        self, element: T_contra, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[W]:
        """The windows of a record; ``timestamp`` is its event time, ms since the epoch."""

    @abstractmethod
    def get_default_trigger(self, env: Any) -> Trigger[Any, W]:
        """The trigger of windows without an explicit one."""

    @abstractmethod
    def get_window_serializer(self) -> TypeSerializer[W]:
        """Serializer of the windows."""

    @abstractmethod
    def is_event_time(self) -> bool:
        """Whether the windows are windows of event time."""


class TimeWindowAssigner(WindowAssigner[Any, TimeWindow]):
    """Base class of assigners of windows with a start and an end, in event time or processing
    time."""

    __slots__ = ()
    event_time: ClassVar[bool] = True

    def get_default_trigger(self, env: Any = None) -> Trigger[Any, TimeWindow]:
        return EventTimeTrigger() if self.event_time else ProcessingTimeTrigger()

    def get_window_serializer(self) -> TimeWindowSerializer:
        return TimeWindowSerializer()

    def is_event_time(self) -> bool:
        return self.event_time


@dataclass(frozen=True, slots=True)
class TumblingEventTimeWindows(TimeWindowAssigner):
    """Consecutive windows of one size. ``size`` and ``offset`` in ms.

    Raises:
        JobDefinitionError: unless ``size > 0`` and ``abs(offset) < size``.

    Example:
        >>> TumblingEventTimeWindows.of(Time.seconds(10)).assign_windows("a", 12_345)
        (TimeWindow(start=10000, end=20000),)
    """

    size: int
    offset: int = 0

    def __post_init__(self) -> None:
        if abs(self.offset) >= self.size:
            raise JobDefinitionError(
                "TumblingEventTimeWindows need size > 0 and abs(offset) < size, got "
                f"size {self.size} ms and offset {self.offset} ms"
            )

    @staticmethod
    def of(size: Amount, offset: Amount | None = None) -> TumblingEventTimeWindows:
        """Windows of a size. ``offset`` shifts their starts, for example for a time zone."""
        return TumblingEventTimeWindows(millis(size), millis(offset or 0))

    def assign_windows(
        self,
        element: Any,
        timestamp: int,
        context: WindowAssigner.WindowAssignerContext | None = None,
    ) -> tuple[TimeWindow]:
        start = window_start(element, timestamp, self.offset, self.size)
        return (TimeWindow(start, start + self.size),)


@dataclass(frozen=True, slots=True)
class SlidingEventTimeWindows(TimeWindowAssigner):
    """Windows of one size that start every ``slide``. All in ms.

    Raises:
        JobDefinitionError: unless ``size > 0`` and ``abs(offset) < slide``.

    Example:
        >>> SlidingEventTimeWindows.of(10_000, 5_000).assign_windows("a", 12_345)
        [TimeWindow(start=10000, end=20000), TimeWindow(start=5000, end=15000)]
    """

    size: int
    slide: int
    offset: int = 0

    def __post_init__(self) -> None:
        if abs(self.offset) >= self.slide or self.size <= 0:
            raise JobDefinitionError(
                "SlidingEventTimeWindows need size > 0 and abs(offset) < slide, got "
                f"size {self.size} ms, slide {self.slide} ms and offset {self.offset} ms"
            )

    @staticmethod
    def of(size: Amount, slide: Amount, offset: Amount | None = None) -> SlidingEventTimeWindows:
        """Windows of a size, one per ``slide``. ``offset`` shifts their starts."""
        return SlidingEventTimeWindows(millis(size), millis(slide), millis(offset or 0))

    def assign_windows(
        self,
        element: Any,
        timestamp: int,
        context: WindowAssigner.WindowAssignerContext | None = None,
    ) -> list[TimeWindow]:
        last = window_start(element, timestamp, self.offset, self.slide)
        starts = range(last, timestamp - self.size, -self.slide)
        return [TimeWindow(start, start + self.size) for start in starts]


def window_start(element: Any, timestamp: int | None, offset: int, size: int) -> int:
    """Start of the last window that holds the timestamp.

    Raises:
        JobExecutionError: the record has no timestamp.
    """
    checked = checked_timestamp(element, timestamp)
    return TimeWindow.get_window_start_with_offset(checked, offset, size)


def checked_timestamp(element: Any, timestamp: int | None) -> int:
    """The record's event time, ms since the epoch.

    Raises:
        JobExecutionError: the record has no event time.
    """
    if timestamp is None or timestamp == MIN_WATERMARK:
        raise JobExecutionError(
            f"the record {element!r} has no timestamp, so it belongs to no event-time window: "
            "call assign_timestamps_and_watermarks before window"
        )
    return timestamp
