"""A log record in the form in which it travels from a worker to the driver."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["LogLine"]


class LogLine(NamedTuple):
    """A log record or printed line of a worker."""

    created: float
    """Seconds since the Unix epoch."""
    level: int
    logger: str
    message: str
    """The message, with its traceback if it has one."""
    job: str | None = None
    operator: str | None = None
    subtask: int | None = None
