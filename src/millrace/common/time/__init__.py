"""Time: amounts of it, watermarks, timers; what PyFlink has in ``pyflink.common.time`` is here."""

from __future__ import annotations

from millrace.common.time.amounts import Duration, Instant, Time, millis

__all__ = [
    "Duration",
    "Instant",
    "Time",
    "millis",
]
