"""A log record as it travels from a worker to the driver."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["LogLine"]


class LogLine(NamedTuple):
    """What a worker has logged or printed."""

    created: float
    """Seconds since the epoch of Unix."""
    level: int
    logger: str
    message: str
    """With its traceback, if it has one."""
    job: str | None = None
    operator: str | None = None
    subtask: int | None = None
