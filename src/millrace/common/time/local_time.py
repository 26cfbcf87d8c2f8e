"""Local times as text."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

__all__ = ["time_text"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def time_text(timestamp: int) -> str:
    """Local time for milliseconds since the Unix epoch, as text.

    Example:
        >>> len(time_text(0))
        19
    """
    try:
        return f"{(_EPOCH + timedelta(milliseconds=timestamp)).astimezone():%Y-%m-%d %H:%M:%S}"
    except (OverflowError, ValueError, OSError):
        return str(timestamp)
