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
    """The running jobs of a session, and the jobs that ended last."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._running: dict[int, EmbeddedJobClient] = {}
        """Running jobs by their objects' identities: jobs of one name have one id."""
        self._ended: deque[SessionJob] = deque(maxlen=_REMEMBERED)

    def add(self, client: EmbeddedJobClient) -> None:
        """Add a job that has been started."""
        key = id(client)
        with self._lock:
            self._running[key] = client
        # what a client holds of an ended job, such as its results, must not stay
        client.when_done(lambda: self._end(key))

    def _end(self, key: int) -> None:
        with self._lock:
            self._ended.append(_listed(self._running.pop(key)))

    def all(self) -> list[SessionJob]:
        """All jobs of the session: first the ended ones, then the running ones, both in the
        order of their starts."""
        with self._lock:
            return [*self._ended, *map(_listed, self._running.values())]

    def running(self, id: str) -> EmbeddedJobClient:
        """Handle on a running job.

        Raises:
            JobDefinitionError: no job of the session has this id and runs, or several do.
        """
        with self._lock:
            clients = [c for c in self._running.values() if str(c.get_job_id()) == id]
        if len(clients) > 1:
            raise JobDefinitionError(
                f"{len(clients)} jobs with the id {id!r} run in this session, because they have "
                f"one name, {clients[0].progress().job_name!r}. SET 'pipeline.name' before each "
                "INSERT gives jobs names and ids of their own. The JobClients of their results "
                "stop these jobs, and so does QUIT in millrace sql"
            )
        if not clients:
            raise JobDefinitionError(
                f"no job with the id {id!r} runs in this session; SHOW JOBS lists the "
                "session's jobs, and 'millrace list' lists jobs of other processes"
            )
        return clients[0]


def _listed(client: EmbeddedJobClient) -> SessionJob:
    details = client.progress()
    begun = min(details.since.values(), default=None)
    start = None if begun is None else datetime.fromtimestamp(begun / 1000, UTC)
    return SessionJob(str(client.get_job_id()), details.job_name, details.status.name, start)
