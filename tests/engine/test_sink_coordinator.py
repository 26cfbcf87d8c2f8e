from __future__ import annotations

from typing import Any

import pytest

from millrace.common.errors import StateError
from millrace.common.sink import Committer, Sink
from millrace.engine.sink_coordinator import SinkCoordinator
from millrace.job_graph.job_graph import SinkNode
from millrace.runtime.epoch import Ack, CommitReport
from millrace.state.serialization.payload import encode


class Recording(Sink[Any], Committer):
    def __init__(self) -> None:
        self.commits: list[list[Any]] = []
        self.closed = False

    def create_writer(self, context, state):
        raise AssertionError("writers live in subtasks")

    def create_committer(self, context) -> Committer:
        return self

    def commit(self, requests) -> None:
        self.commits.append([request.committable for request in requests])

    def close(self) -> None:
        self.closed = True


class NoCommitter(Recording):
    def create_committer(self, context) -> None:
        return None


def ack(**committables: list[Any]) -> Ack:
    encoded = {uid: [encode(item) for item in items] for uid, items in committables.items()}
    return Ack(0, 0, 0, committing=CommitReport(encoded))


def test_committables_of_several_epochs_are_committed_together_once() -> None:
    sink = Recording()
    coordinator = SinkCoordinator([SinkNode("s", "sink", sink)])
    coordinator.accept(ack(s=["a", "b"]))
    coordinator.accept(ack(s=["c"]))
    pending = coordinator.pending()
    assert sink.commits == []
    assert pending.keys() == {"s"}
    coordinator.commit(1)
    assert sink.commits == [["a", "b", "c"]]
    assert coordinator.pending() == {}
    coordinator.commit(1)
    assert len(sink.commits) == 1


def test_what_is_pending_does_not_change_under_the_checkpoint() -> None:
    coordinator = SinkCoordinator([SinkNode("s", "sink", Recording())])
    coordinator.accept(ack(s=["a"]))
    pending = coordinator.pending()
    coordinator.accept(ack(s=["b"]))
    assert len(pending["s"]) == 1


def test_each_sink_gets_its_own_and_those_without_committer_nothing() -> None:
    one, two, without = Recording(), Recording(), NoCommitter()
    nodes = [SinkNode("1", "", one), SinkNode("2", "", two), SinkNode("3", "", without)]
    coordinator = SinkCoordinator(nodes)
    coordinator.accept(ack(**{"1": ["a"], "3": ["x"]}))
    coordinator.commit(1)
    assert (one.commits, two.commits, without.commits) == ([["a"]], [], [])
    coordinator.close()
    assert one.closed
    assert two.closed


def test_what_a_checkpoint_left_pending_is_committed_again() -> None:
    sink = Recording()
    pending = {"s": [encode("a")], "gone": [encode("x")]}
    coordinator = SinkCoordinator([SinkNode("s", "sink", sink)])
    coordinator.restore(pending)
    coordinator.commit(1)
    assert sink.commits == [["a"]]


def test_what_a_checkpoint_left_pending_is_not_dropped_by_a_sink_without_committer() -> None:
    """As when exactly once has become at least once."""
    without = SinkCoordinator([SinkNode("s", "totals", NoCommitter())])
    with pytest.raises(StateError, match="the sink 'totals' has not committed yet"):
        without.restore({"s": [encode("a")]})
    without.accept(ack(s=["x"]))
    assert without.pending() == {}
    without.restore({"s": [], "gone": [encode("x")]})
