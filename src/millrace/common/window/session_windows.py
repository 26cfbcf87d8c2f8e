"""Session windows, which end after a time without records (Flink docs, "Windows").

Each record opens a window from its time to its time plus the gap; windows that overlap or touch
become one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from millrace.common.errors import JobDefinitionError, JobExecutionError
from millrace.common.time.amounts import millis
from millrace.common.window.merging_window_assigner import MergingWindowAssigner
from millrace.common.window.time_window import TimeWindow
from millrace.common.window.window_assigner import (
    Amount,
    TimeWindowAssigner,
    WindowAssigner,
    checked_timestamp,
)

__all__ = [
    "DynamicEventTimeSessionWindows",
    "DynamicProcessingTimeSessionWindows",
    "EventTimeSessionWindows",
    "ProcessingTimeSessionWindows",
    "SessionWindowTimeGapExtractor",
]


class SessionWindowTimeGapExtractor(ABC):
    """Determines the gap after a record: a session ends if no record follows within the gap."""

    @abstractmethod
    def extract(self, element: Any) -> int:
        """The gap after ``element``, ms."""


GapExtractor = SessionWindowTimeGapExtractor | Callable[[Any], int]


class _SessionWindows(TimeWindowAssigner, MergingWindowAssigner[Any, TimeWindow]):
    """Base class of session assigners: each record opens a session, and touching sessions are
    merged."""

    __slots__ = ()

    def merge_windows(
        self,
        windows: Iterable[TimeWindow],
        callback: MergingWindowAssigner.MergeCallback[TimeWindow],
    ) -> None:
        TimeWindow.merge_windows(windows, callback)


@dataclass(frozen=True, slots=True)
class _FixedGap(_SessionWindows):
    session_gap: int

    def __post_init__(self) -> None:
        if self.session_gap <= 0:
            raise JobDefinitionError(
                f"{type(self).__name__} need a gap > 0 ms, got {self.session_gap}"
            )


@dataclass(frozen=True, slots=True)
class _DynamicGap(_SessionWindows):
    extractor: GapExtractor

    def gap_of(self, element: Any) -> int:
        """The gap after a record; raises JobExecutionError unless it is positive."""
        extractor = self.extractor
        is_object = isinstance(extractor, SessionWindowTimeGapExtractor)
        gap = millis(extractor.extract(element) if is_object else extractor(element))  # type: ignore[union-attr, operator]
        if gap <= 0:
            raise JobExecutionError(
                f"the session gap of record {element!r} is {gap} ms; the extractor must give more "
                "than 0"
            )
        return gap


class EventTimeSessionWindows(_FixedGap):
    """Sessions of event time that end ``session_gap`` ms after their last record.

    Example:
        >>> from millrace.common.time import Time
        >>> EventTimeSessionWindows.with_gap(Time.seconds(5)).assign_windows("a", 1_000)
        (TimeWindow(start=1000, end=6000),)
    """

    __slots__ = ()

    @staticmethod
    def with_gap(size: Amount) -> EventTimeSessionWindows:
        """Sessions with the same gap after every record."""
        return EventTimeSessionWindows(millis(size))

    @staticmethod
    def with_dynamic_gap(extractor: GapExtractor) -> DynamicEventTimeSessionWindows:
        """Sessions whose gap depends on the record."""
        return DynamicEventTimeSessionWindows(extractor)

    def assign_windows(
        self,
        element: Any,
        timestamp: int,
        context: WindowAssigner.WindowAssignerContext | None = None,
    ) -> tuple[TimeWindow]:
        start = checked_timestamp(element, timestamp)
        return (TimeWindow(start, start + self.session_gap),)


class DynamicEventTimeSessionWindows(_DynamicGap):
    """Sessions of event time whose gap depends on the record.

    Example:
        >>> windows = DynamicEventTimeSessionWindows.with_dynamic_gap(len)
        >>> windows.assign_windows("abc", 1_000)
        (TimeWindow(start=1000, end=1003),)
    """

    __slots__ = ()

    @staticmethod
    def with_dynamic_gap(extractor: GapExtractor) -> DynamicEventTimeSessionWindows:
        """Sessions whose gap depends on the record."""
        return DynamicEventTimeSessionWindows(extractor)

    def assign_windows(
        self,
        element: Any,
        timestamp: int,
        context: WindowAssigner.WindowAssignerContext | None = None,
    ) -> tuple[TimeWindow]:
        start = checked_timestamp(element, timestamp)
        return (TimeWindow(start, start + self.gap_of(element)),)


class ProcessingTimeSessionWindows(_FixedGap):
    """Sessions of processing time that end ``session_gap`` ms after their last record."""

    __slots__ = ()
    event_time = False

    @staticmethod
    def with_gap(size: Amount) -> ProcessingTimeSessionWindows:
        """Sessions with the same gap after every record."""
        return ProcessingTimeSessionWindows(millis(size))

    @staticmethod
    def with_dynamic_gap(extractor: GapExtractor) -> DynamicProcessingTimeSessionWindows:
        """Sessions whose gap depends on the record."""
        return DynamicProcessingTimeSessionWindows(extractor)

    def assign_windows(
        self, element: Any, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> tuple[TimeWindow]:
        now = context.get_current_processing_time()
        return (TimeWindow(now, now + self.session_gap),)


class DynamicProcessingTimeSessionWindows(_DynamicGap):
    """Sessions of processing time whose gap depends on the record."""

    __slots__ = ()
    event_time = False

    @staticmethod
    def with_dynamic_gap(extractor: GapExtractor) -> DynamicProcessingTimeSessionWindows:
        """Sessions whose gap depends on the record."""
        return DynamicProcessingTimeSessionWindows(extractor)

    def assign_windows(
        self, element: Any, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> tuple[TimeWindow]:
        now = context.get_current_processing_time()
        return (TimeWindow(now, now + self.gap_of(element)),)
