"""The view of queryable state: whole checkpoints, and never in the job's way."""

from __future__ import annotations

from threading import Event
from typing import Any

import pytest

from millrace.engine import queryable_view
from millrace.engine.queryable_view import NotLoadedError, QueryableView
from millrace.runtime.epoch import Ack, QueryableState
from millrace.state.frozen import MISSING
from millrace.state.state_delta import StateDelta
from millrace.state.state_follower import StateFollower
from millrace.state.table_id import TableId
from millrace.state.table_kinds import FLAT, TTL_FLAT, TTL_LIST, TTL_MAP
from millrace.testing import ManualClock

COUNT = QueryableState(TableId("op", "count"), "counts", "value")


@pytest.fixture
def view(monkeypatch):
    """A view whose follower gives what the manifests of the test carry."""

    def advance(self, manifest):
        if isinstance(manifest.feedback, Exception):
            raise manifest.feedback
        return manifest.feedback

    def load(self, manifest):
        loaded.update(advance(self, manifest))

    def entries(self, table):
        return {key: new for key, (_, new) in loaded.get(table, {}).items()}

    loaded: dict[str, Any] = {}
    monkeypatch.setattr(StateFollower, "advance", advance)
    monkeypatch.setattr(StateFollower, "load", load)
    monkeypatch.setattr(StateFollower, "entries", entries)
    monkeypatch.setattr(StateFollower, "kind", lambda self, table: FLAT)
    view = QueryableView(ManualClock(1_000))
    view.started("unused")
    yield view
    view.closed()


class Commit:
    """As much of a manifest as the view looks at."""

    def __init__(self, checkpoint: int, changes) -> None:
        self.checkpoint, self.timestamp, self.feedback = checkpoint, checkpoint * 10, changes


def accept(view: QueryableView, *states: QueryableState) -> None:
    view.accepted([Ack(0, 0, 0, queryable=list(states))])


def put(**entries):
    return {TableId("op", "count"): {key: (MISSING, value) for key, value in entries.items()}}


def test_the_end_of_a_job_does_not_wait_for_a_long_load(view, monkeypatch, caplog) -> None:
    """And what fails afterwards, because the files are gone, is nobody's business."""
    loading, gate = Event(), Event()

    def slow(self, manifest):
        loading.set()
        gate.wait(30)
        raise OSError("the files are gone")

    monkeypatch.setattr(queryable_view, "LONGEST_END", 0.01)
    monkeypatch.setattr(StateFollower, "load", slow)
    accept(view, COUNT)
    view.committed(Commit(1, put(a=1)))
    assert loading.wait(30)
    view.closed()
    assert view._thread.is_alive()
    gate.set()
    view._thread.join(30)
    assert "cannot be read" not in caplog.text


def test_an_answer_is_of_one_checkpoint(view) -> None:
    accept(view, COUNT)
    view.committed(Commit(1, put(a=1, b=2)))
    assert view.wait_for(1, 30)
    view.committed(Commit(2, {TableId("op", "count"): {"a": (1, 5), "b": (2, MISSING)}}))
    assert view.wait_for(2, 30)
    reading = view.read(COUNT, [["x", "a"], ["b"]])
    assert (reading.checkpoint, reading.timestamp) == (2, 20)
    assert reading.found == [("a", 5), (MISSING, MISSING)]


def test_before_anything_is_read(view) -> None:
    with pytest.raises(NotLoadedError):
        view.read(COUNT, [["a"]])
    assert view.checkpoint is None
    assert not view.wait_for(1, 0)


def test_a_state_that_comes_later_is_loaded_with_the_next_checkpoint(view) -> None:
    """The others can be asked for meanwhile."""
    other = QueryableState(TableId("op", "other"), "others", "value")
    accept(view, COUNT)
    view.committed(Commit(1, put(a=1)))
    assert view.wait_for(1, 30)
    accept(view, other)
    assert view.read(COUNT, [["a"]]).found == [("a", 1)]
    with pytest.raises(NotLoadedError, match="'others' is still being loaded"):
        view.read(other, [["a"]])
    view.committed(Commit(2, {**put(a=2), TableId("op", "other"): {"x": (MISSING, 9)}}))
    assert view.wait_for(2, 30)
    assert view.read(other, [["x"]]).found == [("x", 9)]
    assert view.keys(COUNT) == (1, ["a"])


def test_examples_are_kept_of_every_shape_of_keys(view) -> None:
    accept(view, COUNT)
    keys = ["a", "b", 1, ("a", 1), ("b", 2), ("a", "b")]
    view.committed(Commit(1, {TableId("op", "count"): dict.fromkeys(keys, (MISSING, 0))}))
    assert view.wait_for(1, 30)
    assert view.keys(COUNT) == (6, ["a", 1, ("a", 1), ("a", "b")])


@pytest.mark.parametrize(
    ("kind", "raw", "seen"),
    [
        (TTL_FLAT, ("v", 901), "v"),
        (TTL_FLAT, ("v", 900), MISSING),
        (TTL_LIST, [("v", 900), ("w", 950)], ["w"]),
        (TTL_LIST, [("v", 900)], MISSING),
        (TTL_MAP, {"k": ("v", 900), "l": ("w", 950)}, {"l": "w"}),
        (TTL_MAP, {"k": ("v", 1)}, MISSING),
    ],
)
def test_what_has_expired_is_not_there(view, monkeypatch, kind, raw, seen) -> None:
    monkeypatch.setattr(StateFollower, "kind", lambda self, table: kind)
    state = QueryableState(TableId("op", "count"), "counts", "value", ttl=100)
    accept(view, state)
    view.committed(Commit(1, {TableId("op", "count"): {"a": (MISSING, raw)}}))
    assert view.wait_for(1, 30)
    assert view.read(state, [["a"]]).found[0][1] == seen


def test_a_delta_is_not_needed_for_states_that_nobody_may_ask_for(view) -> None:
    """Without queryable state nothing is read."""
    view.committed(Commit(1, AssertionError(StateDelta(1, "", 1, b""))))
    assert view.wait_for(1, 30)
