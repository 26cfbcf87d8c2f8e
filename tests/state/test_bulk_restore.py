"""The garbage collector stays away while state is restored, and comes back."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from millrace.state import bulk_restore
from millrace.state.bulk_restore import without_collections
from millrace.state.state_delta import StateDelta
from millrace.state.store import SubtaskState
from millrace.state.table_id import TableId
from millrace.state.table_kinds import FLAT


@pytest.fixture(autouse=True)
def collecting() -> Iterator[None]:
    assert gc.isenabled()
    yield
    gc.enable()
    gc.unfreeze()


def test_it_comes_back() -> None:
    """After an error as well; not if it was off before."""
    with without_collections():
        assert not gc.isenabled()
        with without_collections():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()
    with pytest.raises(ValueError, match="no"), without_collections():
        raise ValueError("no")
    assert gc.isenabled()
    gc.disable()
    with without_collections():
        pass
    assert not gc.isenabled()


def test_many_objects_are_frozen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few are not: what is frozen is never collected."""
    monkeypatch.setattr(bulk_restore, "MANY_OBJECTS", 10_000)
    gc.collect()
    with without_collections():
        few = [[n] for n in range(100)]
    assert gc.get_freeze_count() == 0
    with without_collections():
        many = [[n] for n in range(20_000)]
    assert gc.get_freeze_count() >= 20_000
    assert len(few) + len(many) == 20_100


class Watching:
    """Notes whether the collector was on when a delta was fetched."""

    def __init__(self) -> None:
        self.on: list[bool] = []

    def __call__(self, delta: StateDelta) -> bytes:
        self.on.append(gc.isenabled())
        assert isinstance(delta.data, bytes)
        return delta.data


def test_a_restore_is_without() -> None:
    """From files, and redistributed from those of another subtask."""
    source, load = SubtaskState(), Watching()
    source.table(TableId("op", "v"), FLAT).put(1, "a")
    delta = source.snapshot(1, "v1")
    assert delta is not None
    restored = SubtaskState()
    restored.restore("v1", [delta], load)
    redistributed = SubtaskState()
    redistributed.take([delta], load, lambda name, kind: True, None)
    for state in (restored, redistributed):
        assert state.table(TableId("op", "v"), FLAT).data == {1: "a"}
    assert load.on == [False, False]
    assert gc.isenabled()
