"""Evictors, which remove elements of a window before or after its function (Flink docs, "Windows").

A window with an evictor keeps all its records: nothing can be aggregated beforehand.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar

from millrace.common.errors import JobDefinitionError
from millrace.common.time.amounts import Duration, Time, millis

__all__ = ["CountEvictor", "DeltaEvictor", "Evictor", "TimeEvictor", "TimestampedValue"]

T = TypeVar("T")
W = TypeVar("W")


class TimestampedValue(NamedTuple):
    """A record of a window with its event time, ms since the epoch, or None."""

    value: Any
    timestamp: int | None


class Evictor(ABC, Generic[T, W]):
    """Removes records from a window whenever it fires. Flink: interface ``Evictor``."""

    class EvictorContext(ABC):
        """Clocks for an evictor. Times are ms since the epoch."""

        @abstractmethod
        def get_current_processing_time(self) -> int:
            """Current processing time: the clock of this machine."""

        @abstractmethod
        def get_current_watermark(self) -> int:
            """The event-time watermark."""

    @abstractmethod
    def evict_before(
        self,
        elements: list[TimestampedValue],
        size: int,
        window: W,
        ctx: Evictor.EvictorContext,
    ) -> list[TimestampedValue] | None:
        """The elements to keep before the window function runs; None if ``elements`` itself was
        changed."""

    @abstractmethod
    def evict_after(
        self,
        elements: list[TimestampedValue],
        size: int,
        window: W,
        ctx: Evictor.EvictorContext,
    ) -> list[TimestampedValue] | None:
        """The elements to keep after the window function has run; None if ``elements`` itself
        was changed."""


class _BuiltInEvictor(Evictor[Any, Any]):
    """Evictor that runs before the window function or, on request, after it."""

    def __init__(self, do_evict_after: bool) -> None:
        self._after = do_evict_after

    def evict_before(
        self,
        elements: list[TimestampedValue],
        size: int,
        window: Any,
        ctx: Evictor.EvictorContext,
    ) -> list[TimestampedValue]:
        return elements if self._after else self.kept(elements)

    def evict_after(
        self,
        elements: list[TimestampedValue],
        size: int,
        window: Any,
        ctx: Evictor.EvictorContext,
    ) -> list[TimestampedValue]:
        return self.kept(elements) if self._after else elements

    @abstractmethod
    def kept(self, elements: list[TimestampedValue]) -> list[TimestampedValue]:
        """Elements that are not evicted."""


class CountEvictor(_BuiltInEvictor):
    """Keeps the last ``max_count`` records.

    Raises:
        JobDefinitionError: unless ``max_count > 0``.
    """

    def __init__(self, max_count: int, do_evict_after: bool = False) -> None:
        super().__init__(do_evict_after)
        if max_count <= 0:
            raise JobDefinitionError(f"CountEvictor needs a count > 0, got {max_count}")
        self.max_count = max_count

    @staticmethod
    def of(max_count: int, do_evict_after: bool = False) -> CountEvictor:
        """Keep a number of records."""
        return CountEvictor(max_count, do_evict_after)

    def kept(self, elements: list[TimestampedValue]) -> list[TimestampedValue]:
        return elements[-self.max_count :]


class TimeEvictor(_BuiltInEvictor):
    """Keeps the records that are at most ``window_size`` ms older than the youngest record. Without
    event times, it keeps all records.

    Raises:
        JobDefinitionError: unless ``window_size > 0``.
    """

    def __init__(self, window_size: int, do_evict_after: bool = False) -> None:
        super().__init__(do_evict_after)
        if window_size <= 0:
            raise JobDefinitionError(f"TimeEvictor needs a time > 0 ms, got {window_size}")
        self.window_size = window_size

    @staticmethod
    def of(window_size: Time | Duration | int, do_evict_after: bool = False) -> TimeEvictor:
        """Keep records at most a given time older than the youngest."""
        return TimeEvictor(millis(window_size), do_evict_after)

    def kept(self, elements: list[TimestampedValue]) -> list[TimestampedValue]:
        times = [element.timestamp for element in elements if element.timestamp is not None]
        if len(times) < len(elements) or not times:
            return elements
        cutoff = max(times) - self.window_size
        return [e for e in elements if e.timestamp is not None and e.timestamp > cutoff]


class DeltaEvictor(_BuiltInEvictor):
    """Keeps the records whose distance from the last record is below ``threshold``.

    Args:
        delta_function: (record, last record) -> distance.
    """

    def __init__(
        self,
        threshold: float,
        delta_function: Callable[[Any, Any], float],
        do_evict_after: bool = False,
    ) -> None:
        super().__init__(do_evict_after)
        if not callable(delta_function):
            raise JobDefinitionError(
                f"DeltaEvictor needs a function of two records, got {delta_function!r}"
            )
        self.threshold = threshold
        self.delta_function = delta_function

    @staticmethod
    def of(
        threshold: float,
        delta_function: Callable[[Any, Any], float],
        do_evict_after: bool = False,
    ) -> DeltaEvictor:
        """Keep the records whose distance from the last record is below ``threshold``."""
        return DeltaEvictor(threshold, delta_function, do_evict_after)

    def kept(self, elements: list[TimestampedValue]) -> list[TimestampedValue]:
        if not elements:
            return elements
        last, distance = elements[-1].value, self.delta_function
        return [e for e in elements if distance(e.value, last) < self.threshold]
