"""Strategies for the timestamps and watermarks of a stream (Flink docs, "Generating
Watermarks")."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import Any, Generic, TypeVar

from millrace.common.errors import JobDefinitionError
from millrace.common.time.amounts import Duration, Time, millis
from millrace.common.time.watermark_generator import (
    BoundedOutOfOrdernessGenerator,
    MonotonousGenerator,
    WatermarkGenerator,
    WatermarkOutput,
)

__all__ = [
    "BoundedOutOfOrdernessGenerator",
    "ClockLimit",
    "MonotonousGenerator",
    "TimestampAssigner",
    "WatermarkAlignment",
    "WatermarkGenerator",
    "WatermarkOutput",
    "WatermarkStrategy",
]

T = TypeVar("T")
T_contra = TypeVar("T_contra", contravariant=True)


class TimestampAssigner(ABC, Generic[T_contra]):
    """Extracts the event time of records."""

    @abstractmethod
    def extract_timestamp(self, value: T_contra, record_timestamp: int) -> int:
        """Event time of ``value`` in ms since the epoch.

        ``record_timestamp`` is the one it had before, -2**63 if it had none.
        """


@dataclass(frozen=True, slots=True)
class WatermarkAlignment:
    """A group of sources that advance together. Times in ms."""

    watermark_group: str
    max_allowed_watermark_drift: int


@dataclass(frozen=True, slots=True)
class ClockLimit:
    """Maximum time (ms) by which timestamps may be ahead of the clock, and whether greater
    timestamps are lowered to this limit.
    """

    max_ahead: int
    cap: bool


@dataclass(frozen=True, slots=True)
class WatermarkStrategy(Generic[T]):
    """Timestamps and watermarks of records. Immutable: ``with_*`` return new strategies.

    Example:
        >>> strategy = (
        ...     WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(5))
        ...     .with_timestamp_assigner(lambda value, record_timestamp: value[1])
        ...     .with_idleness(Duration.of_minutes(1))
        ... )
        >>> strategy.idle_timeout_ms
        60000
    """

    generator_supplier: Callable[[], WatermarkGenerator[T]] | None = None
    """Creates the generator of one split; None for no watermarks."""
    timestamp_assigner: TimestampAssigner[T] | Callable[[T, int], int] | None = None
    """Extracts the timestamps; None to use the timestamps of the source."""
    idle_timeout_ms: int | None = None
    """Milliseconds without records after which a split is idle; None if it is never idle."""
    alignment: WatermarkAlignment | None = None
    clock_limit: ClockLimit | None = None
    """None if timestamps have no limit."""

    @staticmethod
    def for_monotonous_timestamps() -> WatermarkStrategy[Any]:
        """Strategy for timestamps that never decrease within a split."""
        return WatermarkStrategy(MonotonousGenerator)

    @staticmethod
    def for_bounded_out_of_orderness(
        max_out_of_orderness: Duration | Time | timedelta | int,
    ) -> WatermarkStrategy[Any]:
        """Strategy for records that arrive at most a given time (a number is in ms) after newer
        ones."""
        delay = non_negative("max_out_of_orderness", max_out_of_orderness)
        return WatermarkStrategy(partial(BoundedOutOfOrdernessGenerator, delay))

    @staticmethod
    def for_generator(supplier: Callable[[], WatermarkGenerator[T]]) -> WatermarkStrategy[T]:
        """Strategy with generators of the program: ``supplier`` (a class, for example) creates
        one per split."""
        if not callable(supplier):
            raise JobDefinitionError(
                f"for_generator needs a callable that creates a WatermarkGenerator, "
                f"got {supplier!r}: pass the class, not an instance"
            )
        return WatermarkStrategy(supplier)

    @staticmethod
    def no_watermarks() -> WatermarkStrategy[Any]:
        """Strategy without watermarks, except the last one at the end of bounded input."""
        return WatermarkStrategy()

    def with_timestamp_assigner(
        self, timestamp_assigner: TimestampAssigner[T] | Callable[[T, int], int]
    ) -> WatermarkStrategy[T]:
        """Take timestamps from the records, with an assigner or with a callable that has the same
        arguments.
        """
        if not isinstance(timestamp_assigner, TimestampAssigner) and not callable(
            timestamp_assigner
        ):
            raise JobDefinitionError(
                "with_timestamp_assigner needs a TimestampAssigner or a callable "
                f"(value, record_timestamp) -> int, got {timestamp_assigner!r}"
            )
        return replace(self, timestamp_assigner=timestamp_assigner)

    def with_idleness(
        self, idle_timeout: Duration | Time | timedelta | int
    ) -> WatermarkStrategy[T]:
        """Exclude splits without records for a given time (a number is in ms) from the
        watermark."""
        timeout = millis(idle_timeout)
        if timeout <= 0:
            raise JobDefinitionError(f"idle_timeout must be positive, got {timeout} ms")
        return replace(self, idle_timeout_ms=timeout)

    def with_clock_limit(
        self, max_ahead: Duration | Time | timedelta | int, cap: bool = False
    ) -> WatermarkStrategy[T]:
        """Prevent timestamps that are too far ahead of the clock from advancing the watermark.

        One record of the year 2100 would make everything after it late. It keeps its timestamp,
        or, with ``cap``, gets the latest one that is believed. The clock is the machine's at the
        beginning of the epoch; ``numRecordsAheadOfClock`` counts such records.

        Args:
            max_ahead: maximum lead of a timestamp over the clock; a number is in ms.
            cap: set timestamps that are further ahead to ``max_ahead`` from now.
        """
        ahead = non_negative("max_ahead", max_ahead)
        return replace(self, clock_limit=ClockLimit(ahead, cap))

    def with_watermark_alignment(
        self,
        watermark_group: str,
        max_allowed_watermark_drift: Duration | Time | timedelta | int,
        update_interval: Duration | Time | timedelta | int | None = None,
    ) -> WatermarkStrategy[T]:
        """Prevent the splits of the group's sources from running far ahead of the slowest split.

        A split whose watermark is more than the drift ahead of the lowest of all splits in the
        group, of whatever source, is paused until the others have come up. Idle and finished splits
        hold nobody back. Alignment saves state in joins and windows; results are the same without
        it. Only `from_source` heeds it. Flink docs, "Generating Watermarks", alignment.

        Args:
            watermark_group: the sources of the job that name the same group wait for each other.
            max_allowed_watermark_drift: maximum lead (a number is in ms), kept to within one batch.
            update_interval: accepted for Flink programs, without effect: the group's lowest
                watermark is updated with every epoch.
        """
        drift = non_negative("max_allowed_watermark_drift", max_allowed_watermark_drift)
        return replace(self, alignment=WatermarkAlignment(watermark_group, drift))


def non_negative(name: str, value: Duration | Time | timedelta | int) -> int:
    """The duration in ms; raises `JobDefinitionError` if it is negative."""
    duration = millis(value)
    if duration < 0:
        raise JobDefinitionError(f"{name} must not be negative, got {duration} ms")
    return duration
