from __future__ import annotations

from dataclasses import replace

import pytest

from millrace.engine.state_assignment import StateAssignment
from millrace.engine.state_registry import RECENT_BYTES, RECENT_DELTAS, StateRegistry
from millrace.runtime.epoch import Ack, RestoreAssignment, StateHandle, StateReport
from millrace.state.state_delta import FileRef, StateDelta

A, B = (0, 0), (0, 1)


def delta(epoch: int, low_epoch: int = 0, data: bytes | FileRef = b"x") -> StateDelta:
    return StateDelta(epoch, f"v{epoch}", low_epoch, data)


def accept(registry: StateRegistry, made: StateDelta | None, subtask: tuple[int, int] = A) -> None:
    version = made.version if made else "unchanged"
    registry.accept(Ack(*subtask, 0, state=StateReport(version, made)))


def filled(*deltas: StateDelta) -> StateRegistry:
    registry = StateRegistry()
    for made in deltas:
        accept(registry, made)
    return registry


def test_a_subtask_without_state_has_the_empty_version() -> None:
    registry = StateRegistry()
    assert registry.version(A) == ""
    assert registry.recent_deltas(A) == registry.all_deltas(A) == ()


def test_deltas_make_versions_and_no_delta_none() -> None:
    registry = filled(delta(0), delta(1))
    accept(registry, None)
    accept(registry, delta(5), B)
    assert registry.versions() == {A: "v1", B: "v5"}


def test_recent_deltas_are_the_last_few_small_ones() -> None:
    registry = filled(*[delta(n) for n in range(10)])
    assert [made.epoch for made in registry.recent_deltas(A)] == [
        10 - RECENT_DELTAS + n for n in range(3)
    ]
    accept(registry, delta(10, data=bytes(RECENT_BYTES)))
    assert [made.epoch for made in registry.recent_deltas(A)] == [10]
    accept(registry, delta(11))
    assert [made.epoch for made in registry.recent_deltas(A)] == [11]


def test_dead_deltas_are_forgotten() -> None:
    registry = filled(*[delta(n) for n in range(5)], delta(5, low_epoch=3))
    assert [made.epoch for made in registry.all_deltas(A)] == [3, 4, 5]
    assert [made.epoch for _, made in registry.unsaved()] == [3, 4, 5]
    assert (registry.size(A), registry.unsaved_size(A), registry.size(B)) == (3, 3, 0)


def test_saved_deltas_are_known_by_their_place() -> None:
    registry = filled(delta(0), delta(1))
    ref = FileRef("shared/x", 0, 1, 0)
    registry.mark_saved([(A, delta(0, data=ref)), (A, delta(1, data=ref)), (B, delta(9, data=ref))])
    assert registry.unsaved() == []
    assert [made.data for made in registry.all_deltas(A)] == [ref, ref]
    accept(registry, delta(2))
    assert [made.epoch for _, made in registry.unsaved()] == [2]


def test_restored_deltas_count_like_accepted_ones() -> None:
    registry = StateRegistry()
    deltas = [delta(5), delta(6, low_epoch=6), delta(7, low_epoch=6)]
    assert registry.restore(StateAssignment(unchanged={A: ("v7", deltas)})) == {A}
    assert registry.version(A) == "v7"
    assert [made.epoch for made in registry.all_deltas(A)] == [6, 7]
    assert registry.unsaved() == []


@pytest.mark.parametrize("follows", [True, False])
def test_parts_of_former_owners_come_before_the_first_delta(follows: bool) -> None:
    """If it follows them; they count as of its epoch, since former deltas were of another owner."""
    file = FileRef("shared/part", 0, 9, 0)
    rows = [StateDelta(4, "rows0", 4, file), StateDelta(4, "rows1", 4, b"rows")]
    rest = StateDelta(4, "rest", 4, b"rest")
    handles = tuple(StateHandle(n, 2, (part, rest), True, True) for n, part in enumerate(rows))
    registry = StateRegistry()
    registry.restore(StateAssignment({}, {A: ("old@stage", RestoreAssignment(handles))}))
    first = delta(5, low_epoch=5)
    registry.accept(Ack(*A, 0, state=StateReport("v5", first, follows_parts=follows)))
    known = [replace(part, epoch=5, low_epoch=5) for part in rows] if follows else []
    assert registry.all_deltas(A) == (*known, first)
    assert [made for _, made in registry.unsaved()] == [*known, first]
    assert registry.files() == ({"shared/part"} if follows else set())
    assert registry.size(A) == (14 if follows else 1)
    accept(registry, delta(7, low_epoch=6))
    assert [made.version for made in registry.all_deltas(A)] == ["v7"]
