"""Time: amounts, watermarks and timers, including PyFlink's ``pyflink.common.time``."""

from __future__ import annotations

from millrace.common.time.amounts import Duration, Instant, Time, millis

__all__ = [
    "Duration",
    "Instant",
    "Time",
    "millis",
]
