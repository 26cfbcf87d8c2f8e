"""States of a job: the possible successors of each, and the requests that a job accepts in it.

Semantics: Flink docs, "Jobs and Scheduling" (JobStatus). The table `STATES` has all rules about
states; the job manager uses it and has no flags of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import Lock
from types import MappingProxyType

from millrace.common.errors import JobExecutionError
from millrace.common.job import JobStatus
from millrace.engine.job_requests import RequestKind

__all__ = ["STATES", "JobStateMachine", "StateRule"]


@dataclass(frozen=True, slots=True)
class StateRule:
    """Successors of a job's state, and the requests that the job accepts in it."""

    followed_by: frozenset[JobStatus]
    """States that may follow; empty for a final state."""
    accepts: frozenset[RequestKind]
    says: str
    """Activity of the job in this state, for the message to requests that it refuses."""


_ALL = frozenset(RequestKind)
_ENDS = frozenset({RequestKind.STOP, RequestKind.CANCEL})
"""Requests to end a job. They succeed for a job that is ending or has ended."""


def _rule(says: str, accepts: frozenset[RequestKind], *followed_by: JobStatus) -> StateRule:
    return StateRule(frozenset(followed_by), accepts, says)


STATES: Mapping[JobStatus, StateRule] = MappingProxyType(
    {
        JobStatus.CREATED: _rule(
            "has not begun", _ALL,
            JobStatus.RUNNING, JobStatus.CANCELLING, JobStatus.FAILING,
        ),
        JobStatus.RUNNING: _rule(
            "is running", _ALL,
            JobStatus.RESTARTING, JobStatus.CANCELLING, JobStatus.FAILING,
            JobStatus.SUSPENDED, JobStatus.FINISHED,
        ),
        JobStatus.RESTARTING: _rule(
            "is restarting", _ALL,
            JobStatus.RUNNING, JobStatus.CANCELLING, JobStatus.FAILING, JobStatus.SUSPENDED,
        ),
        # a job may end otherwise before the cancellation reaches it
        JobStatus.CANCELLING: _rule(
            "is being cancelled", _ENDS,
            JobStatus.CANCELED, JobStatus.FAILING, JobStatus.FINISHED, JobStatus.SUSPENDED,
        ),
        JobStatus.FAILING: _rule("has failed", _ENDS, JobStatus.FAILED),
        JobStatus.FAILED: _rule("has ended: it failed", _ENDS),
        JobStatus.CANCELED: _rule("has ended: it was cancelled", _ENDS),
        JobStatus.FINISHED: _rule("has ended: it finished", _ENDS),
        JobStatus.SUSPENDED: _rule("has ended: it was stopped to be resumed", _ENDS),
    }
)  # fmt: skip
"""All states of a job. Flink's RECONCILING is not among them, because a job whose driver has
died continues as another run."""


class JobStateMachine:
    """State of one job, from its creation to its end. May be used by several threads.

    Args:
        now: the time in milliseconds since the epoch of Unix.

    Example:
        >>> states = JobStateMachine(lambda: 7)
        >>> states.enter(JobStatus.RUNNING)
        True
        >>> states.cancel()
        True
        >>> states.enter(JobStatus.RESTARTING), states.status.name  # a cancellation stays
        (False, 'CANCELLING')
    """

    def __init__(self, now: Callable[[], int]) -> None:
        self._now = now
        self._lock = Lock()
        self._status = JobStatus.CREATED
        self._since: Mapping[JobStatus, int] = MappingProxyType({JobStatus.CREATED: now()})

    @property
    def status(self) -> JobStatus:
        """Present state of the job."""
        return self._status

    @property
    def since(self) -> Mapping[JobStatus, int]:
        """Time of the last entry into each state, in ms since the epoch (Flink: ``timestamps``)."""
        return self._since

    def enter(self, status: JobStatus) -> bool:
        """Enter another state; False if the job is being cancelled, and stays in that state.

        Raises:
            JobExecutionError: that state cannot follow.
        """
        with self._lock:
            if status in STATES[self._status].followed_by:
                self._set(status)
                return True
            goes_on = status in (JobStatus.RUNNING, JobStatus.RESTARTING)
            if goes_on and self._status is JobStatus.CANCELLING:
                return False
            raise JobExecutionError(
                f"a job that is {self._status.name} cannot become {status.name}; this is a mistake "
                "of Millrace"
            )

    def cancel(self) -> bool:
        """Begin to cancel the job; False if it is ending or has ended already."""
        with self._lock:
            if JobStatus.CANCELLING not in STATES[self._status].followed_by:
                return False
            self._set(JobStatus.CANCELLING)
            return True

    def refusal(self, kind: RequestKind) -> str | None:
        """Reason why the job refuses this kind of request in its present state; None if it accepts
        the request.
        """
        rule = STATES[self._status]
        return None if kind in rule.accepts else f"the job {rule.says}, so it cannot {kind.value}"

    def _set(self, status: JobStatus) -> None:
        self._since = MappingProxyType({**self._since, status: self._now()})
        self._status = status
