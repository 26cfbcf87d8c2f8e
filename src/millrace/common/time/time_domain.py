"""The two clocks of timers."""

from __future__ import annotations

from enum import Enum

__all__ = ["TimeDomain"]


class TimeDomain(Enum):
    """Clock on which a timer was registered.

    Semantics: Flink docs, "Process Function" (section Timers).
    """

    EVENT_TIME = 0
    """The watermark: timestamps of the data."""
    PROCESSING_TIME = 1
    """The clock of the machine."""
