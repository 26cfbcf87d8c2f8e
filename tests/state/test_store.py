"""One subtask's state: versions, and the ways from one to another."""

from __future__ import annotations

from typing import Any

import pytest

from millrace.common.errors import StateError
from millrace.state.state_delta import StateDelta
from millrace.state.store import EMPTY, StateMissError, SubtaskState
from millrace.state.table_id import TableId
from millrace.state.table_kinds import FLAT, LIST


def load(delta: StateDelta) -> bytes:
    assert isinstance(delta.data, bytes)
    return delta.data


def epoch(state: SubtaskState, number: int, version: str = "") -> StateDelta:
    """Run an epoch that counts, and hand over its delta."""
    counts = state.table(TableId("op", "count"), FLAT)
    counts.put("n", (counts.get("n") or 0) + 1)
    counts.put(number, number)
    delta = state.snapshot(number, version or f"v{number}")
    assert delta is not None
    return delta


def counted(state: SubtaskState) -> int:
    value = state.table(TableId("op", "count"), FLAT).data.get("n", 0)
    assert isinstance(value, int)
    return value


def test_the_accepted_epoch_is_kept() -> None:
    """Nothing needs to be loaded."""
    state = SubtaskState()
    delta = epoch(state, 1)
    assert state.version == EMPTY
    assert state.align("v1", [delta], load) is True
    assert (state.version, counted(state), state.replays) == ("v1", 1, 0)


def test_the_plan_need_not_carry_the_delta_that_is_here() -> None:
    """The version's name is enough."""
    state = SubtaskState()
    epoch(state, 1)
    assert state.align("v1", [], load) is True


def test_a_refused_epoch_is_taken_back() -> None:
    """And whoever holds something of their own hears of it."""
    state = SubtaskState()
    delta = epoch(state, 1)
    state.align("v1", [delta], load)
    generation = state.generation
    epoch(state, 2, "refused")
    assert state.align("v1", [delta], load) is True
    assert counted(state) == 1
    assert state.generation > generation


def test_another_worker_ran_the_epoch() -> None:
    """Its delta is replayed, our own attempt at it is rolled back."""
    state, other = SubtaskState(), SubtaskState()
    first = epoch(state, 1)
    other.restore("v1", [first], load)
    theirs = epoch(other, 2, "theirs")
    state.align("v1", [first], load)
    epoch(state, 2, "ours")
    assert state.align("theirs", [first, theirs], load) is False
    assert (state.version, counted(state), state.replays) == ("theirs", 2, 1)


def test_too_far_behind() -> None:
    """Then everything is needed."""
    state = SubtaskState()
    third = StateDelta(3, "v3", 0, b"")
    with pytest.raises(StateMissError, match="cannot reach version v3 from nothing"):
        state.align("v3", [third], load)
    state.restore("v1", [epoch(SubtaskState(), 1)], load)
    with pytest.raises(StateMissError, match="from v1"):
        state.align("v3", [third], load)


def test_ahead_of_the_plan() -> None:
    """After going back to a checkpoint a cache may be too new: it must not be used."""
    state = SubtaskState()
    first = epoch(state, 1)
    state.align("v1", [first], load)
    second = epoch(state, 2)
    state.align("v2", [first, second], load)
    with pytest.raises(StateMissError):
        state.align("v1", [first], load)


def two_in_flight() -> tuple[SubtaskState, list[StateDelta]]:
    """A store at version v1, whose second epoch waits while the third is open."""
    state = SubtaskState()
    deltas = [epoch(state, 1)]
    state.commit()
    deltas.append(epoch(state, 2))
    state.begin_next()
    counts = state.table(TableId("op", "count"), FLAT)
    counts.put("n", 9)
    counts.put(3, 3)
    counts.remove(2)
    return state, deltas


def test_the_waiting_epoch_is_accepted_and_the_open_one_goes_on() -> None:
    """The delta of the open one has its changes only, also of a key that both changed."""
    state, deltas = two_in_flight()
    generation = state.generation
    state.commit()
    assert (state.version, counted(state), state.generation) == ("v2", 9, generation)
    later = state.snapshot(3, "v3")
    assert later is not None
    state.commit()
    other = SubtaskState()
    other.restore("v2", deltas, load)
    assert counted(other) == 2
    other.align("v3", [*deltas, later], load)
    assert other.table(TableId("op", "count"), FLAT).data == {"n": 9, 1: 1, 3: 3}


@pytest.mark.parametrize(
    ("wanted", "known", "version", "count"),
    [
        ("v1", (), "v1", 1),
        ("v2", (), "v2", 2),
        ("v7", ("v2", "v7"), "v2", 2),
        ("v7", (), "v1", 1),
    ],
    ids=["refused", "accepted", "overtaken", "overtaken-unknown"],
)
def test_an_open_epoch_beside_a_waiting_one_is_undone(
    wanted: str, known: tuple[str, ...], version: str, count: int
) -> None:
    """The plan says what became of the waiting one. Whoever holds something of their own hears of
    it."""
    state, _ = two_in_flight()
    generation = state.generation
    assert state.settle(wanted, known) is (wanted == version)
    assert (state.version, counted(state)) == (version, count)
    assert state.generation > generation
    epoch(state, 3)
    state.commit()
    assert (state.version, counted(state)) == ("v3", count + 1)


def test_both_epochs_are_rolled_back() -> None:
    state, _ = two_in_flight()
    state.roll_back()
    assert (state.version, counted(state)) == ("v1", 1)
    assert state.settle("v1") is True


def test_a_waiting_epoch_without_changes() -> None:
    """There is nothing to accept or undo but the open one."""
    for accepted in (True, False):
        state = SubtaskState()
        epoch(state, 1)
        state.commit()
        assert state.snapshot(2, "v2") is None
        state.begin_next()
        state.table(TableId("op", "count"), FLAT).put("n", 5)
        if accepted:
            state.commit()
            assert (state.version, counted(state)) == ("v1", 5)
        assert state.settle("v1") is True
        assert counted(state) == 1


def test_epochs_end_in_their_order() -> None:
    state, _ = two_in_flight()
    with pytest.raises(StateError, match="epoch 3 cannot end before the epoch before it is accep"):
        state.snapshot(3, "v3")
    with pytest.raises(StateError, match="an epoch waits for its acceptance already"):
        state.begin_next()
    state.commit()
    with pytest.raises(StateError, match="has not ended; call `snapshot` first"):
        state.begin_next()
    state.reset()
    with pytest.raises(StateError, match="has not ended"):
        state.begin_next()


@pytest.mark.parametrize("undone", [True, False])
def test_all_is_written_once_though_the_epoch_waits(undone: bool) -> None:
    """What was taken from other subtasks is written with the first epoch, and again only if this
    one is undone."""
    source, state = SubtaskState(), SubtaskState()
    counts = source.table(TableId("op", "count"), FLAT)
    for number in range(100):
        counts.put(number, number)
    state.take([epoch(source, 1)], load, lambda name, kind: True, None)
    state.adopt("v1")
    first = state.snapshot(2, "v2")
    assert first is not None
    assert first.low_epoch == 2
    state.begin_next()
    if undone:
        state.roll_back()
    else:
        state.table(TableId("op", "count"), FLAT).put("n", 5)
        state.commit()
    second = epoch(state, 3)
    assert (second.low_epoch == 3) is undone
    state.commit()
    assert epoch(state, 4).low_epoch < 3


def test_an_epoch_without_changes_keeps_the_version() -> None:
    """And hands over nothing."""
    state = SubtaskState()
    state.align("v1", [epoch(state, 1)], load)
    assert state.snapshot(2, "v2") is None
    assert state.align("v1", [], load) is True


def test_operators_may_hold_on_to_their_tables() -> None:
    """A restore fills the same objects."""
    state = SubtaskState()
    held = state.table(TableId("op", "count"), FLAT)
    delta = epoch(SubtaskState(), 1)
    state.restore("v1", [delta], load)
    assert held is state.table(TableId("op", "count"), FLAT)
    assert held.data == {"n": 1, 1: 1}
    state.reset()
    assert held.data == {}
    assert state.version == EMPTY


def test_what_was_taken_is_written_at_once() -> None:
    """The next delta needs none before it; values of operators are not taken."""
    state = SubtaskState()
    for number in (1, 2):
        part = SubtaskState()
        part.operator_table().put("valve", number)
        delta = epoch(part, number)
        state.take([delta], load, lambda name, kind: True, lambda key: key != "n")
    delta = state.snapshot(7, "merged")
    assert delta is not None
    assert delta.low_epoch == 7
    replica = SubtaskState()
    replica.restore("merged", [delta], load)
    assert replica.table(TableId("op", "count"), FLAT).data == {1: 1, 2: 2}
    assert replica.operator_table().data == {}


def test_a_name_used_for_two_kinds_of_state() -> None:
    """Says which name and what to do."""
    state = SubtaskState()
    state.table(TableId("op", "seen"), FLAT)
    with pytest.raises(StateError, match="'seen' is used as flat and as list"):
        state.table(TableId("op", "seen"), LIST)


class OnlyCounts:
    """A watcher of one table that notes which table deltas it saw."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def wants(self, name: str) -> bool:
        return name == TableId("op", "count")

    def replaying(self, table, name, table_delta) -> None:
        self.seen.append((name, dict(table.data), table_delta["put"]))


def test_a_watched_copy_holds_only_the_wanted_tables() -> None:
    """And tells of every table delta before it is applied."""
    state, watcher = SubtaskState(), OnlyCounts()
    state.table(TableId("op", "other"), FLAT).put("x", 1)
    delta = epoch(state, 1)
    copy = SubtaskState(watcher)
    copy.restore("v1", [delta], load)
    assert list(copy.tables) == [TableId("op", "count")]
    assert counted(copy) == 1
    assert watcher.seen == [(TableId("op", "count"), {}, {"n": 1, 1: 1})]
