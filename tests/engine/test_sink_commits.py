"""Commits of the driver: tried again with a growing back-off, at once or in the background."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from concurrent.futures import wait
from threading import Event, Thread
from typing import Any

import pytest

from millrace.common.errors import JobCancelledError, JobExecutionError
from millrace.common.sink import CommitMode, CommitRequest, Committer, Sink
from millrace.engine import sink_commits
from millrace.engine.sink_commits import BackgroundCommits, DriverCommits, backoff
from millrace.engine.sink_coordinator import SinkCoordinator
from millrace.job_graph.job_graph import SinkNode
from millrace.runtime.committing import Committing
from millrace.runtime.epoch import Ack, CommitReport
from millrace.runtime.metrics import MetricRegistry, RegisteredGroup
from millrace.state.serialization.payload import encode


class Flaky(Committer):
    """Fails some times, then commits."""

    def __init__(self, failures: int) -> None:
        self.failures = failures
        self.tries: list[list[tuple[Any, int]]] = []

    def commit(self, requests: Sequence[CommitRequest[Any]]) -> None:
        self.tries.append([(r.committable, r.number_of_retries) for r in requests])
        if len(self.tries) <= self.failures:
            requests[0].signal_already_committed()
            raise TimeoutError("too slow")


def commits(committer: Committer, retries: int) -> DriverCommits:
    metrics = RegisteredGroup(MetricRegistry())
    committing = Committing("out", committer, metrics, logging.getLogger("millrace.test"))
    return DriverCommits("out", committing, retries)


def test_only_what_failed_is_tried_again_after_a_growing_pause() -> None:
    flaky, pauses = Flaky(2), list[float]()
    commits(flaky, 10).commit([encode(name) for name in "abc"], pauses.append)
    assert flaky.tries == [[("a", 0), ("b", 0), ("c", 0)], [("b", 1), ("c", 1)], [("c", 2)]]
    assert pauses == [0.1, 0.2]


def test_the_job_fails_after_the_retries_and_says_that_nothing_is_lost() -> None:
    with pytest.raises(
        JobExecutionError, match="'out' could not be committed in 3 tries: too slow.*resume"
    ):
        commits(Flaky(9), 2).commit([encode(name) for name in "abcd"], lambda _: None)


def test_the_pause_has_an_upper_bound() -> None:
    assert [backoff(n) for n in (1, 2, 7, 8, 1000)] == [0.1, 0.2, 6.4, 10.0, 10.0]


class Early(Flaky):
    """Begins to commit before the checkpoint is complete, unless it fails to."""

    def __init__(self, failures: int = 0, begins: bool = True) -> None:
        super().__init__(failures)
        self.begins = begins
        self.calls: list[Any] = []

    def begin_commit(self, requests: Sequence[CommitRequest[Any]]) -> None:
        self.calls.append(list(requests))
        if not self.begins:
            raise ConnectionError("gone")

    def abandon_commit(self) -> None:
        self.calls.append("abandoned")


def test_a_commit_goes_on_with_the_requests_with_which_it_began() -> None:
    early = Early()
    of_sink = commits(early, 1)
    seen: list[CommitRequest[Any]] = []
    early.commit = seen.extend  # type: ignore[assignment, method-assign]
    of_sink.begin([encode("a"), encode("b")])
    of_sink.commit([encode("a"), encode("b")], lambda _: None)
    assert early.calls == [seen]
    of_sink.commit([encode("c")], lambda _: None)
    assert [request.committable for request in seen] == ["a", "b", "c"]
    of_sink.close()
    assert "abandoned" not in early.calls


def test_what_was_begun_is_abandoned_before_others_are_committed() -> None:
    early = Early()
    of_sink = commits(early, 1)
    of_sink.begin([encode("a")])
    of_sink.commit([encode("a"), encode("b")], lambda _: None)
    assert early.calls[1:] == ["abandoned"]
    assert early.tries == [[("a", 0), ("b", 0)]]
    of_sink.begin([encode("c")])
    of_sink.close()
    assert early.calls[3:] == ["abandoned"]


def test_a_commit_that_could_not_begin_does_everything() -> None:
    early = Early(1, begins=False)
    of_sink = commits(early, 1)
    of_sink.begin([encode("a"), encode("b")])
    of_sink.commit([encode("a"), encode("b")], lambda _: None)
    assert early.tries == [[("a", 0), ("b", 0)], [("b", 1)]]
    of_sink.abandon()
    of_sink.close()
    assert "abandoned" not in early.calls


class Slow(Sink[Any], Committer):
    """Commits in the background, when it is let."""

    commit_mode = CommitMode.IN_BACKGROUND

    def __init__(self, error: Exception | None = None) -> None:
        self.let, self.error = Event(), error
        self.committed: list[Any] = []
        self.begun: list[list[Any]] = []

    def create_writer(self, context, state):
        raise AssertionError("writers live in subtasks")

    def create_committer(self, context) -> Committer:
        return self

    def begin_commit(self, requests: Sequence[CommitRequest[Any]]) -> None:
        self.begun.append([request.committable for request in requests])

    def commit(self, requests: Sequence[CommitRequest[Any]]) -> None:
        assert self.let.wait(30)
        if self.error is not None:
            raise self.error
        self.committed += [request.committable for request in requests]


class Outage(Slow):
    """Cannot commit at first, then can."""

    def commit(self, requests: Sequence[CommitRequest[Any]]) -> None:
        try:
            super().commit(requests)
        finally:
            self.error = None


def ack(*committables: Any) -> Ack:
    return Ack(0, 0, 0, committing=CommitReport({"s": [encode(item) for item in committables]}))


def test_what_is_being_committed_stays_pending_in_checkpoints() -> None:
    sink = Slow()
    coordinator = SinkCoordinator([SinkNode("s", "slow", sink)])
    coordinator.accept(ack("a"))
    coordinator.commit(1)
    coordinator.accept(ack("b"))
    assert coordinator.pending() == {"s": [encode("a"), encode("b")]}
    assert coordinator.outstanding() == {"s": [encode("a")]}
    coordinator.commit(1)
    sink.let.set()
    coordinator.finish()
    assert sink.committed == ["a", "b"]
    assert coordinator.pending() == {}
    assert coordinator.metrics["s"].counts()["successfulCommittables"] == 2
    coordinator.close()


def test_a_commit_begins_behind_the_one_before() -> None:
    sink = Slow()
    coordinator = SinkCoordinator([SinkNode("s", "slow", sink)])
    coordinator.accept(ack("a"))
    coordinator.commit(1)
    coordinator.accept(ack("b"))
    coordinator.begin_commit()
    coordinator.commit(2)
    assert not sink.begun
    sink.let.set()
    coordinator.finish()
    assert (sink.begun, sink.committed) == ([["b"]], ["a", "b"])
    coordinator.close()


def test_no_commit_begins_behind_one_that_failed() -> None:
    sink = Slow(ConnectionError("gone"))
    coordinator = SinkCoordinator([SinkNode("s", "slow", sink)], retries=0)
    coordinator.accept(ack("a"))
    coordinator.commit(1)
    coordinator.accept(ack("b"))
    coordinator.begin_commit()
    sink.let.set()
    coordinator.close()
    assert not sink.begun


class Stuck(Slow):
    """Commits at once, and cannot undo what it has begun."""

    def __init__(self) -> None:
        super().__init__()
        self.let.set()
        self.is_closed = False

    def abandon_commit(self) -> None:
        raise TimeoutError("too slow")

    def close(self) -> None:
        self.is_closed = True


def test_nothing_is_committed_behind_what_could_not_be_undone() -> None:
    """Nobody knows what the commit would make visible."""
    sink = Stuck()
    coordinator = SinkCoordinator([SinkNode("s", "stuck", sink)])
    coordinator.accept(ack("a"))
    coordinator.begin_commit()
    coordinator.abandon_commit()
    coordinator.commit(1)
    with pytest.raises(JobExecutionError, match=r"'stuck' could not undo .*TimeoutError: too slow"):
        coordinator.finish()
    assert coordinator.owes
    coordinator.close()
    assert (sink.committed, sink.is_closed) == ([], True)


def test_what_cannot_be_undone_at_the_end_is_told(caplog: pytest.LogCaptureFixture) -> None:
    sink = Stuck()
    coordinator = SinkCoordinator([SinkNode("s", "stuck", sink)])
    coordinator.accept(ack("a"))
    coordinator.begin_commit()
    coordinator._background._thread().submit(lambda: None).result(30)
    coordinator.close()
    assert sink.is_closed
    assert "sink 'stuck' could not undo a commit" in caplog.text


def test_all_committers_are_closed() -> None:
    class Broken(Slow):
        def close(self) -> None:
            raise ConnectionError("gone")

    other = Stuck()
    nodes = [SinkNode("1", "broken", Broken()), SinkNode("2", "other", other)]
    nodes.append(SinkNode("3", "broken", Broken()))
    with pytest.raises(ConnectionError):
        SinkCoordinator(nodes).close()
    assert other.is_closed


@pytest.mark.parametrize(
    ("limit", "most"), [("MOST_BEHIND", 2), ("MOST_BYTES", 2 * len(encode(1)))]
)
def test_a_job_is_held_up_by_too_many_commits(
    monkeypatch: pytest.MonkeyPatch, limit: str, most: int
) -> None:
    monkeypatch.setattr(f"millrace.engine.sink_commits.{limit}", most)
    sink = Slow()
    coordinator = SinkCoordinator([SinkNode("s", "slow", sink)])

    def commit(checkpoint: int) -> None:
        coordinator.accept(ack(checkpoint))
        coordinator.commit(checkpoint)

    commit(1)
    commit(2)
    third = Thread(target=commit, args=(3,))
    third.start()
    third.join(0.2)
    assert third.is_alive()
    sink.let.set()
    third.join(30)
    assert not third.is_alive()
    coordinator.finish()
    assert sink.committed == [1, 2, 3]
    coordinator.close()


def test_a_failure_in_the_background_fails_the_job_at_the_next_checkpoint() -> None:
    sink = Slow(ConnectionError("gone"))
    sink.let.set()
    coordinator = SinkCoordinator([SinkNode("s", "slow", sink)], retries=0)
    coordinator.accept(ack("a"))
    coordinator.commit(1)
    with pytest.raises(JobExecutionError, match="'slow' could not be committed in 1 tries: gone"):
        coordinator.finish()
    coordinator.close()


def test_nothing_is_committed_behind_a_commit_that_failed() -> None:
    """A committer may note the last epoch it has committed: an earlier one would be taken for
    committed when the job is resumed."""
    sink = Outage(ConnectionError("gone"))
    coordinator = SinkCoordinator([SinkNode("s", "slow", sink)], retries=0)
    for checkpoint, item in enumerate("abc"):
        coordinator.accept(ack(item))
        coordinator.commit(checkpoint)
    sink.let.set()
    for commit in coordinator._background._running:
        wait([commit.future], 30)
    assert sink.committed == []
    assert coordinator.owes
    with pytest.raises(JobExecutionError, match="could not be committed in 1 tries: gone"):
        coordinator.pending()
    coordinator.close()


def test_nothing_is_committed_behind_a_commit_that_was_cancelled() -> None:
    sink = Outage(ConnectionError("gone"))
    coordinator = SinkCoordinator([SinkNode("s", "slow", sink)])
    for checkpoint, item in enumerate("ab"):
        coordinator.accept(ack(item))
        coordinator.commit(checkpoint, pause=lambda _: True)
    sink.let.set()
    with pytest.raises(JobCancelledError):
        coordinator.finish()
    coordinator.close()
    assert sink.committed == []
    assert coordinator.owes


def test_the_engine_waits_for_no_step_behind_a_running_commit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waits: list[float] = []
    monkeypatch.setattr(sink_commits, "wait", lambda futures, seconds: waits.append(seconds))
    commits, may_end, steps = BackgroundCommits(), Event(), list[int]()
    commits.prepare("a", lambda: steps.append(1))
    commits.start("a", 1, [b"x"], lambda _: may_end.wait(60) or None, lambda: None)
    commits.prepare("a", lambda: steps.append(2))
    assert len(waits) == 1
    may_end.set()
    commits.wait()
    commits.prepare("a", lambda: steps.append(3))
    assert len(waits) == 2
    commits.close()
    assert steps[:2] == [1, 2]
