"""One attempt to commit: calls a committer, and sorts its requests into committed, lost and to be
retried.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from millrace.common.errors import JobExecutionError, MillraceError
from millrace.common.functions.metrics import MetricGroup
from millrace.common.sink import CommitRequest, CommitState, Committer

__all__ = ["Committing"]


class Committing:
    """A committer and its metrics, which have the names of Flink's ``SinkCommitterMetricGroup``.

    Args:
        name: name of the sink, for messages.
    """

    def __init__(
        self, name: str, committer: Committer, metrics: MetricGroup, logger: logging.Logger
    ) -> None:
        self._name = name
        self._committer = committer
        self._logger = logger
        self._total = metrics.counter("totalCommittables")
        self._retried = metrics.counter("retriedCommittables")
        self._done = metrics.counter("successfulCommittables")
        self._already = metrics.counter("alreadyCommittedCommittables")
        self._failed = metrics.counter("failedCommittables")

    def attempt(self, requests: Sequence[CommitRequest[Any]]) -> list[CommitRequest[Any]]:
        """Try to commit, and return the requests to retry, each with the reason if there is one.

        Raises:
            JobExecutionError: a request failed for a reason that the committer does not know.
            MillraceError: an error that the committer itself raised.
        """
        if not requests:
            return []
        self._total.inc(sum(request.number_of_retries == 0 for request in requests))
        try:
            self._committer.commit(requests)
        except MillraceError:
            raise
        except Exception as error:
            for request in requests:
                if request.state is CommitState.RECEIVED:
                    request.retry_later()
                    request.error = error
            self._logger.warning("sink '%s' could not commit now: %s", self._name, error)
        return [request for request in requests if self._is_left(request)]

    def begin(self, requests: Sequence[CommitRequest[Any]]) -> bool:
        """Let the committer begin before the checkpoint is complete. Returns False if it could not
        begin: then the later commit does all the work and reports the errors.
        """
        try:
            self._committer.begin_commit(requests)
        except Exception as error:
            self._logger.info(
                "sink '%s' could not begin to commit while the checkpoint is written, and commits "
                "everything afterwards: %s: %s",
                self._name, type(error).__name__, error,
            )  # fmt: skip
            return False
        return True

    def abandon(self) -> None:
        """Tell the committer that the checkpoint was not completed, so that it undoes
        `begin_commit`.

        Raises:
            JobExecutionError: it could not.
        """
        try:
            self._committer.abandon_commit()
        except Exception as error:
            raise JobExecutionError(
                f"sink '{self._name}' could not undo a commit that it had begun for a checkpoint "
                f"that failed: {type(error).__name__}: {error}. Resume the job: a new committer "
                "commits what is in its newest checkpoint"
            ) from error

    def _is_left(self, request: CommitRequest[Any]) -> bool:
        """Count the outcome of a request, and return whether it must be retried."""
        match request.state:
            case CommitState.RETRY:
                self._retried.inc()
                return True
            case CommitState.UNKNOWN_FAILURE:
                raise JobExecutionError(
                    f"sink '{self._name}' cannot commit {request.committable!r}: {request.error}"
                ) from request.error
            case CommitState.FAILED:
                self._failed.inc()
                self._logger.error(
                    "sink '%s' has lost %r, which can never be committed: %s",
                    self._name, request.committable, request.error,
                )  # fmt: skip
            case CommitState.ALREADY_COMMITTED:
                self._already.inc()
            case CommitState.RECEIVED:
                self._done.inc()
        return False

    def close(self) -> None:
        """Close the committer."""
        self._committer.close()
