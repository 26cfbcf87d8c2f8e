from __future__ import annotations

from millrace.engine.state_assignment import StateAssignment
from millrace.engine.state_registry import RECENT_BYTES, RECENT_LAYERS, StateRegistry
from millrace.runtime.epoch import Ack
from millrace.state.layer import FileRef, Layer

A, B = (0, 0), (0, 1)


def layer(epoch: int, floor: int = 0, data: bytes | FileRef = b"x") -> Layer:
    return Layer(epoch, f"v{epoch}", floor, data)


def accept(registry: StateRegistry, made: Layer | None, subtask: tuple[int, int] = A) -> None:
    version = made.version if made else "unchanged"
    registry.accept(Ack(*subtask, 0, layer=made, version=version))


def filled(*layers: Layer) -> StateRegistry:
    registry = StateRegistry()
    for made in layers:
        accept(registry, made)
    return registry


def test_a_subtask_without_state_has_the_empty_version() -> None:
    registry = StateRegistry()
    assert registry.version(A) == ""
    assert registry.recent(A) == registry.all_layers(A) == ()


def test_layers_make_versions_and_no_layer_none() -> None:
    registry = filled(layer(0), layer(1))
    accept(registry, None)
    accept(registry, layer(5), B)
    assert registry.versions() == {A: "v1", B: "v5"}


def test_recent_layers_are_the_last_few_small_ones() -> None:
    registry = filled(*[layer(n) for n in range(10)])
    assert [made.epoch for made in registry.recent(A)] == [10 - RECENT_LAYERS + n for n in range(3)]
    accept(registry, layer(10, data=bytes(RECENT_BYTES)))
    assert [made.epoch for made in registry.recent(A)] == [10]
    accept(registry, layer(11))
    assert [made.epoch for made in registry.recent(A)] == [11]


def test_dead_layers_are_forgotten() -> None:
    registry = filled(*[layer(n) for n in range(5)], layer(5, floor=3))
    assert [made.epoch for made in registry.all_layers(A)] == [3, 4, 5]
    assert [made.epoch for _, made in registry.unsaved()] == [3, 4, 5]


def test_saved_layers_are_known_by_their_place() -> None:
    registry = filled(layer(0), layer(1))
    ref = FileRef("shared/x", 0, 1, 0)
    registry.saved([(A, layer(0, data=ref)), (A, layer(1, data=ref)), (B, layer(9, data=ref))])
    assert registry.unsaved() == []
    assert [made.data for made in registry.all_layers(A)] == [ref, ref]
    accept(registry, layer(2))
    assert [made.epoch for _, made in registry.unsaved()] == [2]


def test_restored_layers_count_like_accepted_ones() -> None:
    registry = StateRegistry()
    layers = [layer(5), layer(6, floor=6), layer(7, floor=6)]
    assert registry.restore(StateAssignment(unchanged={A: ("v7", layers)})) == {A}
    assert registry.version(A) == "v7"
    assert [made.epoch for made in registry.all_layers(A)] == [6, 7]
    assert registry.unsaved() == []
