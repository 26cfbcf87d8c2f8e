"""Tumbling and sliding windows of processing time (Flink docs, "Windows")."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from millrace.common.errors import JobDefinitionError
from millrace.common.time.amounts import millis
from millrace.common.window.time_window import TimeWindow
from millrace.common.window.window_assigner import Amount, TimeWindowAssigner, WindowAssigner

__all__ = ["SlidingProcessingTimeWindows", "TumblingProcessingTimeWindows"]


class _ProcessingTimeWindows(TimeWindowAssigner):
    __slots__ = ()
    event_time = False


@dataclass(frozen=True, slots=True)
class TumblingProcessingTimeWindows(_ProcessingTimeWindows):
    """Consecutive windows of one size of processing time. ``size`` and ``offset`` in ms.

    Raises:
        JobDefinitionError: unless ``size > 0`` and ``abs(offset) < size``.
    """

    size: int
    offset: int = 0

    def __post_init__(self) -> None:
        if abs(self.offset) >= self.size:
            raise JobDefinitionError(
                "TumblingProcessingTimeWindows need size > 0 and abs(offset) < size, got "
                f"size {self.size} ms and offset {self.offset} ms"
            )

    @staticmethod
    def of(size: Amount, offset: Amount | None = None) -> TumblingProcessingTimeWindows:
        """Windows of a size. ``offset`` shifts their starts, for example for a time zone."""
        return TumblingProcessingTimeWindows(millis(size), millis(offset or 0))

    def assign_windows(
        self, element: Any, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> tuple[TimeWindow]:
        now = context.get_current_processing_time()
        start = TimeWindow.get_window_start_with_offset(now, self.offset, self.size)
        return (TimeWindow(start, start + self.size),)


@dataclass(frozen=True, slots=True)
class SlidingProcessingTimeWindows(_ProcessingTimeWindows):
    """Windows of one size of processing time that start every ``slide``. All in ms.

    Raises:
        JobDefinitionError: unless ``size > 0`` and ``abs(offset) < slide``.
    """

    size: int
    slide: int
    offset: int = 0

    def __post_init__(self) -> None:
        if abs(self.offset) >= self.slide or self.size <= 0:
            raise JobDefinitionError(
                "SlidingProcessingTimeWindows need size > 0 and abs(offset) < slide, got "
                f"size {self.size} ms, slide {self.slide} ms and offset {self.offset} ms"
            )

    @staticmethod
    def of(
        size: Amount, slide: Amount, offset: Amount | None = None
    ) -> SlidingProcessingTimeWindows:
        """Windows of a size, one per ``slide``. ``offset`` shifts their starts."""
        return SlidingProcessingTimeWindows(millis(size), millis(slide), millis(offset or 0))

    def assign_windows(
        self, element: Any, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> list[TimeWindow]:
        now = context.get_current_processing_time()
        last = TimeWindow.get_window_start_with_offset(now, self.offset, self.slide)
        starts = range(last, now - self.size, -self.slide)
        return [TimeWindow(start, start + self.size) for start in starts]
