"""The two clocks a timer can run on."""

from __future__ import annotations

from enum import Enum

__all__ = ["TimeDomain"]


class TimeDomain(Enum):
    """Which clock a firing timer was registered on.

    Semantics: Flink docs, "Process Function" (section Timers).
    """

    EVENT_TIME = 0
    """The watermark: timestamps of the data."""
    PROCESSING_TIME = 1
    """The clock of the machine."""
