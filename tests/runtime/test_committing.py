"""One try to commit: what a committer can say of its requests, and what is counted."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from millrace.common.errors import JobExecutionError, MillraceError
from millrace.common.sink import CommitRequest, Committer
from millrace.runtime.committing import Committing
from millrace.runtime.metrics import MetricRegistry, RegisteredGroup

Said = Callable[[CommitRequest[Any]], None]


class Scripted(Committer):
    """Says of each committable what the script has for it."""

    def __init__(self, **said: Said) -> None:
        self.said = said

    def commit(self, requests: Sequence[CommitRequest[Any]]) -> None:
        for request in requests:
            if request.committable in self.said:
                self.said[request.committable](request)


def committing(committer: Committer) -> tuple[Committing, MetricRegistry]:
    registry = MetricRegistry()
    log = logging.getLogger("millrace.test")
    return Committing("sink", committer, RegisteredGroup(registry), log), registry


def fail(request: CommitRequest[Any]) -> None:
    request.signal_failed_with_known_reason(ValueError("expired"))


def test_what_is_said_nothing_of_is_committed() -> None:
    made, metrics = committing(Scripted())
    assert made.attempt([CommitRequest("a"), CommitRequest("b")]) == []
    assert metrics.counts() == {
        "totalCommittables": 2,
        "successfulCommittables": 2,
        "retriedCommittables": 0,
        "alreadyCommittedCommittables": 0,
        "failedCommittables": 0,
    }


def test_what_can_never_be_committed_is_left_out_logged_and_counted(
    caplog: pytest.LogCaptureFixture,
) -> None:
    made, metrics = committing(Scripted(a=fail))
    assert made.attempt([CommitRequest("a"), CommitRequest("b")]) == []
    assert metrics.counts()["failedCommittables"] == 1
    assert "sink 'sink' has lost 'a', which can never be committed: expired" in caplog.text


def test_what_is_to_be_retried_comes_back_as_it_was_updated() -> None:
    def half(request: CommitRequest[Any]) -> None:
        request.update_and_retry_later("rest of b")

    made, metrics = committing(Scripted(a=CommitRequest.retry_later, b=half))
    left = made.attempt([CommitRequest(name) for name in "abc"])
    assert [request.committable for request in left] == ["a", "rest of b"]
    assert metrics.counts()["retriedCommittables"] == 2


def test_a_retry_is_not_counted_as_another_committable() -> None:
    made, metrics = committing(Scripted())
    made.attempt([CommitRequest("a", number_of_retries=3)])
    assert metrics.counts()["totalCommittables"] == 0


def test_what_was_committed_before_is_counted_apart() -> None:
    made, metrics = committing(Scripted(a=CommitRequest.signal_already_committed))
    assert made.attempt([CommitRequest("a")]) == []
    counts = metrics.counts()
    assert (counts["alreadyCommittedCommittables"], counts["successfulCommittables"]) == (1, 0)


def test_an_unknown_failure_fails_the_job() -> None:
    def broken(request: CommitRequest[Any]) -> None:
        request.signal_failed_with_unknown_reason(RuntimeError("no idea"))

    made, _ = committing(Scripted(a=broken))
    with pytest.raises(JobExecutionError, match="sink 'sink' cannot commit 'a': no idea"):
        made.attempt([CommitRequest("a")])


def test_an_exception_leaves_what_was_told_nothing_to_be_retried() -> None:
    class Cut(Scripted):
        def commit(self, requests: Sequence[CommitRequest[Any]]) -> None:
            super().commit(requests)
            raise ConnectionError("gone")

    made, _ = committing(Cut(a=CommitRequest.signal_already_committed, b=fail))
    left = made.attempt([CommitRequest(name) for name in "abc"])
    assert [(request.committable, str(request.error)) for request in left] == [("c", "gone")]


def test_an_error_of_ours_is_final() -> None:
    class Refusing(Committer):
        def commit(self, requests: Sequence[CommitRequest[Any]]) -> None:
            raise MillraceError("the part is gone")

    made, _ = committing(Refusing())
    with pytest.raises(MillraceError, match="the part is gone"):
        made.attempt([CommitRequest("a")])
