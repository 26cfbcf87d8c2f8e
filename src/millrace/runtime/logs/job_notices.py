"""Notices of workers: messages for people about a running job in which nothing has failed.

They are the warnings and errors that a worker logs, and what its operators tell on purpose, such as
the address at which one listens. They travel to the driver with the acknowledgements of subtasks.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import Any

from millrace.runtime.logs.log_origin import LogOrigin, LogOriginFilter, log_origin
from millrace.runtime.logs.worker_notice import WorkerNotice

__all__ = [
    "MOST_CHARACTERS",
    "MOST_KINDS",
    "NoticeHandler",
    "begin_notices",
    "has_new_notices",
    "take_notices",
    "tell",
]

MOST_CHARACTERS = 1_000
"""Maximum number of characters of a notice."""
MOST_KINDS = 20
"""Maximum number of different notices of a job that a worker keeps for the driver; more are only
logged."""
_MOST_JOBS = 8
"""Maximum number of jobs whose notices a worker keeps. Those of an ended job are never taken."""
_MOST_TAKEN = 100
"""Maximum number of kinds of notices that end an epoch of an idle job."""

_Kind = tuple[Any, ...]


class _KeptNotices:
    """Notices of this process that no acknowledgement has taken yet, by job. Notices without a
    known job, such as those of a thread that a function started, go to the next job that asks.
    """

    def __init__(self) -> None:
        # a finalizer or a handler of a signal may log in a thread that has the lock
        self._lock = threading.RLock()
        self._kept: dict[str | None, dict[_Kind, WorkerNotice]] = {}
        self._taken: dict[str, set[_Kind]] = {}
        """Kinds of the notices that each job has had."""

    def add(self, level: int, logger: str, text: str, origin: LogOrigin, created: float) -> None:
        """Keep a notice, unless there are too many others of its job."""
        text = text if len(text) <= MOST_CHARACTERS else f"{text[:MOST_CHARACTERS]}…"
        now = round(created * 1_000)
        subtasks = () if origin.subtask is None else (origin.subtask,)
        notice = WorkerNotice(level, logger, text, origin.operator, subtasks, now, now, 1)
        with self._lock:
            kept = self._kept.setdefault(origin.job, {})
            before = kept.get(notice.kind)
            if before is not None:
                kept[notice.kind] = before.joined(notice)
            elif len(kept) < MOST_KINDS:
                kept[notice.kind] = notice
            _forget_oldest(self._kept)

    def begin(self, job: str) -> None:
        """Begin a run of a job, to which all notices are new."""
        with self._lock:
            self._taken[job] = set()
            _forget_oldest(self._taken)

    def has_new(self, job: str) -> bool:
        """Whether a job has a notice of a kind that it has not had before."""
        if not self._kept:
            return False
        with self._lock:
            taken = self._taken.get(job, set())
            kinds = {*self._kept.get(job, ()), *self._kept.get(None, ())}
            return len(taken) < _MOST_TAKEN and not kinds <= taken

    def take(self, job: str) -> list[WorkerNotice]:
        """The notices of a job since the last call."""
        if not self._kept:  # as with nearly every acknowledgement
            return []
        with self._lock:
            notices = [*self._kept.pop(job, {}).values(), *self._kept.pop(None, {}).values()]
            taken = self._taken.setdefault(job, set())
            new = {notice.kind for notice in notices} - taken
            taken.update(list(new)[: _MOST_TAKEN - len(taken)])
            _forget_oldest(self._taken)
        return notices


def _forget_oldest(by_job: dict[Any, Any]) -> None:
    while len(by_job) > _MOST_JOBS:
        del by_job[next(iter(by_job))]


_kept = _KeptNotices()


class NoticeHandler(logging.Handler):
    """Log handler that turns warnings and errors into notices."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.addFilter(LogOriginFilter())

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the record as a notice. If it has an exception, only the exception's last line is
        kept.
        """
        try:
            text = record.getMessage()
            if record.exc_info and record.exc_info[0] is not None:
                text += f": {record.exc_info[0].__name__}: {record.exc_info[1]}"
        except Exception:  # arguments that do not fit the message are no reason to fail
            self.handleError(record)
            return
        origin = LogOrigin.of(record)
        _kept.add(record.levelno, record.name, text, origin, record.created)


def tell(logger: logging.Logger, text: str) -> None:
    """Log a line of level INFO, and also show it as a notice to the people who run the job.

    Args:
        logger: logger of the caller.
    """
    logger.info("%s", text)
    _kept.add(logging.INFO, logger.name, text, log_origin(), time.time())


def begin_notices(job: str) -> None:
    """Begin a run of a job in this process, in which no notice has been shown yet."""
    _kept.begin(job)


def has_new_notices(job: str) -> bool:
    """Whether this process has notices of a kind that the job has not had before. Notices of known
    kinds may wait: otherwise a sink that warns in each epoch would keep an idle job running epochs.
    """
    return _kept.has_new(job)


def take_notices(job: str) -> list[WorkerNotice]:
    """Notices of a job in this process since the last call, including notices without a known
    job."""
    return _kept.take(job)
