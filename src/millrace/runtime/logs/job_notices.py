"""Notices of workers: what people should hear of a running job although nothing has failed.

They are the warnings and errors that a worker logs, and what its operators tell on purpose, such as
the address at which one listens. They travel to the driver with the acknowledgements of subtasks.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import Any

from millrace.runtime.logs.log_place import LogPlace, PlaceFilter, log_place
from millrace.runtime.logs.worker_notice import WorkerNotice

__all__ = ["MOST_CHARACTERS", "MOST_KINDS", "NoticeHandler", "has_notices", "take_notices", "tell"]

MOST_CHARACTERS = 1_000
"""Maximum number of characters of a notice."""
MOST_KINDS = 20
"""Maximum number of different notices that a worker keeps for the driver; more are only logged."""


class _KeptNotices:
    """Notices of this process that no acknowledgement has taken yet."""

    def __init__(self) -> None:
        # a finalizer or a handler of a signal may log in a thread that has the lock
        self._lock = threading.RLock()
        self._kept: dict[tuple[Any, ...], WorkerNotice] = {}

    def add(self, level: int, logger: str, text: str, place: LogPlace, created: float) -> None:
        """Keep a notice, unless there are too many others."""
        text = text if len(text) <= MOST_CHARACTERS else f"{text[:MOST_CHARACTERS]}…"
        now = round(created * 1_000)
        notice = WorkerNotice(level, logger, text, place.operator, place.subtask, now, now, 1)
        kind = (*notice.kind, place.subtask)
        with self._lock:
            before = self._kept.get(kind)
            if before is not None:
                self._kept[kind] = before.joined(notice)
            elif len(self._kept) < MOST_KINDS:
                self._kept[kind] = notice

    @property
    def is_waiting(self) -> bool:
        """Whether there is a notice."""
        return bool(self._kept)

    def take(self) -> list[WorkerNotice]:
        """The notices since the last call."""
        if not self._kept:  # as with nearly every acknowledgement
            return []
        with self._lock:
            taken, self._kept = self._kept, {}
        return list(taken.values())


_kept = _KeptNotices()


class NoticeHandler(logging.Handler):
    """Handler that makes notices of warnings and errors."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.addFilter(PlaceFilter())

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the record as a notice. Of an exception, its last line is kept."""
        try:
            text = record.getMessage()
            if record.exc_info and record.exc_info[0] is not None:
                text += f": {record.exc_info[0].__name__}: {record.exc_info[1]}"
        except Exception:  # arguments that do not fit the message are no reason to fail
            self.handleError(record)
            return
        place = LogPlace(*(getattr(record, name, None) for name in LogPlace._fields))
        _kept.add(record.levelno, record.name, text, place, record.created)


def tell(logger: logging.Logger, text: str) -> None:
    """Log a line of level INFO, and let the people who run the job hear of it.

    Args:
        logger: logger of the caller.
    """
    logger.info("%s", text)
    _kept.add(logging.INFO, logger.name, text, log_place(), time.time())


def has_notices() -> bool:
    """Whether this process has notices that no acknowledgement has taken yet."""
    return _kept.is_waiting


def take_notices() -> list[WorkerNotice]:
    """Notices of this process since the last call."""
    return _kept.take()
