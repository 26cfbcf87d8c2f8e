"""Generators of watermarks from timestamps (Flink docs, "Generating Watermarks")."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Generic, Protocol, TypeVar

__all__ = [
    "BoundedOutOfOrdernessGenerator",
    "MAX_WATERMARK",
    "MIN_WATERMARK",
    "MonotonousGenerator",
    "WatermarkGenerator",
    "WatermarkOutput",
]

T_contra = TypeVar("T_contra", contravariant=True)

MIN_WATERMARK = -(2**63)
"""Before any watermark; also "no timestamp"."""
MAX_WATERMARK = 2**63 - 1
"""After the last record: nothing will come any more."""


class WatermarkOutput(Protocol):
    """Output of a watermark generator."""

    def emit_watermark(self, timestamp: int) -> None:
        """Emit a watermark: no record at or before ``timestamp`` (ms since the epoch) follows."""

    def mark_idle(self) -> None:
        """Exclude this input from the watermark."""

    def mark_active(self) -> None:
        """Include this input in the watermark again."""


class WatermarkGenerator(ABC, Generic[T_contra]):
    """Derives watermarks from all records of a source split; each split has a generator."""

    @abstractmethod
    def on_event(self, event: T_contra, timestamp: int, output: WatermarkOutput) -> None:
        """Called for every record; may emit a watermark immediately."""

    @abstractmethod
    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        """Called after every batch of records and at the end of every epoch; the usual place to
        emit. On resident tasks also each ``pipeline.auto-watermark-interval`` without records."""


class BoundedOutOfOrdernessGenerator(WatermarkGenerator[Any]):
    """Generator whose watermark is the highest timestamp, minus a delay, minus one millisecond.

    Args:
        max_out_of_orderness: the delay in milliseconds.
    """

    __slots__ = ("delay", "max_timestamp")

    def __init__(self, max_out_of_orderness: int = 0) -> None:
        self.delay = max_out_of_orderness
        # So that the first watermark, before any record, does not fall below the smallest one.
        self.max_timestamp = MIN_WATERMARK + max_out_of_orderness + 1

    def on_event(self, event: Any, timestamp: int, output: WatermarkOutput) -> None:
        self.max_timestamp = max(self.max_timestamp, timestamp)

    def on_batch(self, timestamps: list[int]) -> None:
        """Do the work of `on_event` for each of the timestamps, but much faster."""
        newest = max(timestamps, default=MIN_WATERMARK)
        self.max_timestamp = max(self.max_timestamp, newest)

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        output.emit_watermark(self.watermark())

    def watermark(self) -> int:
        """The current watermark, ms since the epoch."""
        return self.max_timestamp - self.delay - 1


class MonotonousGenerator(BoundedOutOfOrdernessGenerator):
    """Generator for timestamps that never decrease: its watermark is the highest timestamp, minus
    one millisecond.
    """

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(0)
