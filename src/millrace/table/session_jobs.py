"""`SessionJobs`: the jobs that the statements of a session have started, for SHOW JOBS."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from datetime import UTC, datetime
from threading import Lock

from millrace.common.errors import JobDefinitionError
from millrace.engine.embedded_job_client import EmbeddedJobClient

__all__ = ["SessionJob", "SessionJobs"]

_REMEMBERED = 100
"""Ended jobs that are listed: a session may run thousands of short queries."""


@dataclass(frozen=True, slots=True)
class SessionJob:
    """A job of a session, as SHOW JOBS lists it."""

    id: str
    name: str
    status: str
    start: datetime | None
    """None if the job has not begun."""


class SessionJobs:
    """The running jobs of a session, and those that ended last."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._running: dict[str, EmbeddedJobClient] = {}
        self._ended: deque[SessionJob] = deque(maxlen=_REMEMBERED)

    def add(self, client: EmbeddedJobClient) -> None:
        """Note a job that has been started."""
        id = str(client.get_job_id())
        with self._lock:
            self._running[id] = client
        # what a client holds of an ended job, such as its results, must not stay
        client.when_done(lambda: self._end(id))

    def _end(self, id: str) -> None:
        with self._lock:
            client = self._running.pop(id, None)
            if client is not None:
                self._ended.append(_listed(id, client))

    def all(self) -> list[SessionJob]:
        """The ended jobs and then the running ones, each in the order of their starts."""
        with self._lock:
            running = [_listed(id, client) for id, client in self._running.items()]
            return [*self._ended, *running]

    def running(self, id: str) -> EmbeddedJobClient:
        """Handle on a running job.

        Raises:
            JobDefinitionError: no job of the session has this id and runs.
        """
        with self._lock:
            client = self._running.get(id)
        if client is None:
            raise JobDefinitionError(
                f"no job with the id {id!r} runs in this session; SHOW JOBS lists its jobs, and "
                "'millrace list' those of other processes"
            )
        return client


def _listed(id: str, client: EmbeddedJobClient) -> SessionJob:
    details = client.progress()
    begun = min(details.since.values(), default=None)
    start = None if begun is None else datetime.fromtimestamp(begun / 1000, UTC)
    return SessionJob(id, details.job_name, details.status.name, start)
