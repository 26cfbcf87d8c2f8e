"""Origin of a log record: its job, operator and subtask.

Nothing is noted down while records are processed: the operator is looked for among the calls that
lead to the logger when something is logged.
"""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from millrace.runtime.failure import owner_of
from millrace.runtime.operator import Operator

__all__ = [
    "LogOrigin",
    "LogOriginFilter",
    "at_log_origin",
    "current_log_origin",
    "enter_log_origin",
    "log_origin",
]


class LogOrigin(NamedTuple):
    """Job, operator and subtask in which a record was logged. Unknown parts are None."""

    job: str | None = None
    operator: str | None = None
    """Name of the operator, or of the stage outside of its operators."""
    subtask: int | None = None

    @staticmethod
    def of(record: logging.LogRecord) -> LogOrigin:
        """Origin that `LogOriginFilter` has added to a record."""
        return LogOrigin(*(getattr(record, name, None) for name in LogOrigin._fields))


_UNKNOWN = LogOrigin()
_current = threading.local()


def enter_log_origin(origin: LogOrigin) -> None:
    """Set the origin of records that this thread logs, from now on."""
    _current.origin = origin


@contextmanager
def at_log_origin(origin: LogOrigin) -> Iterator[None]:
    """Context manager that sets the origin of records that this thread logs."""
    before = current_log_origin()
    enter_log_origin(origin)
    try:
        yield
    finally:
        enter_log_origin(before)


def current_log_origin() -> LogOrigin:
    """Origin that this thread last set with `enter_log_origin`."""
    origin: LogOrigin = getattr(_current, "origin", _UNKNOWN)
    return origin


def log_origin() -> LogOrigin:
    """Origin of records of the calling thread, down to the operator."""
    known = current_log_origin()
    owner = owner_of(sys._getframe(1))
    context = getattr(owner, "context", None)  # it has none until it is part of a chain
    if not isinstance(owner, Operator) or context is None:
        return known
    return LogOrigin(context.job_name or known.job, context.name, context.subtask_index)


class LogOriginFilter(logging.Filter):
    """Adds the attributes ``job``, ``operator`` and ``subtask`` to every record. Drops none.

    Example:
        >>> record = logging.makeLogRecord({"msg": "hello"})
        >>> LogOriginFilter().filter(record), record.subtask
        (True, None)
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Add the attributes to the record, unless it already has them."""
        if not hasattr(record, "subtask"):
            record.job, record.operator, record.subtask = log_origin()
        return True
