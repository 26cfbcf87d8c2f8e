"""Place of origin of a log record: its job, operator and subtask.

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

__all__ = ["LogPlace", "PlaceFilter", "at_place", "current_place", "enter_place", "log_place"]


class LogPlace(NamedTuple):
    """Place in a job at which a record was logged. Unknown parts are None."""

    job: str | None = None
    operator: str | None = None
    """Name of the operator, or of the stage outside of its operators."""
    subtask: int | None = None


_NOWHERE = LogPlace()
_current = threading.local()


def enter_place(place: LogPlace) -> None:
    """Set the place of this thread from now on."""
    _current.place = place


@contextmanager
def at_place(place: LogPlace) -> Iterator[None]:
    """Context manager that sets the place of this thread."""
    before = current_place()
    enter_place(place)
    try:
        yield
    finally:
        enter_place(before)


def current_place() -> LogPlace:
    """Place last set in this thread by `enter_place`."""
    place: LogPlace = getattr(_current, "place", _NOWHERE)
    return place


def log_place() -> LogPlace:
    """Place of the calling thread, down to the operator."""
    known = current_place()
    owner = owner_of(sys._getframe(1))
    context = getattr(owner, "context", None)  # it has none until it is part of a chain
    if not isinstance(owner, Operator) or context is None:
        return known
    return LogPlace(context.job_name or known.job, context.name, context.subtask_index)


class PlaceFilter(logging.Filter):
    """Adds the attributes ``job``, ``operator`` and ``subtask`` to every record. Drops none.

    Example:
        >>> record = logging.makeLogRecord({"msg": "hello"})
        >>> PlaceFilter().filter(record), record.subtask
        (True, None)
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Add the attributes to the record, unless it already has them."""
        if not hasattr(record, "subtask"):
            record.job, record.operator, record.subtask = log_place()
        return True
