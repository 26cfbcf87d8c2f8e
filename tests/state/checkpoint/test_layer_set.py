"""Which layers and files are alive."""

from __future__ import annotations

from millrace.state.checkpoint.layer_file import LayerEntry, LayerFile, LayerFileRef
from millrace.state.checkpoint.layer_set import LayerSet
from millrace.state.layer import FileRef, Layer


def entry(epoch: int, floor: int = 0, subtask: int = 0, stage: str = "s") -> LayerEntry:
    return stage, subtask, Layer(epoch, f"v{epoch}", floor, FileRef("f", 0, 0, 0))


def file(name: str, *entries: LayerEntry) -> LayerFile:
    return LayerFile(LayerFileRef(name, 0, 0, 0, len(entries)), entries)


def epochs(layers: LayerSet) -> dict[tuple[str, int], list[int]]:
    return {key: [layer.epoch for layer in found] for key, found in layers.by_subtask().items()}


def test_a_floor_kills_what_is_below_it() -> None:
    """Layers die one by one, a file with its last layer."""
    layers = LayerSet().with_file(file("a", entry(1), entry(2)))
    assert epochs(layers) == {("s", 0): [1, 2]}
    layers = layers.with_file(file("b", entry(3, floor=2)))
    assert epochs(layers) == {("s", 0): [2, 3]}
    assert list(layers.files) == ["a", "b"]
    layers = layers.with_file(file("c", entry(4, floor=3)))
    assert list(layers.files) == ["b", "c"]


def test_the_highest_floor_counts() -> None:
    """A worker that joined late may report a lower one."""
    layers = LayerSet().with_file(file("a", entry(5, floor=5))).with_file(file("b", entry(6)))
    assert layers.floors == {("s", 0): 5}


def test_subtasks_are_independent() -> None:
    """One subtask's floor does not touch another's layers."""
    layers = LayerSet().with_file(file("a", entry(1), entry(1, subtask=1)))
    layers = layers.with_file(file("b", entry(2, floor=2)))
    assert epochs(layers) == {("s", 0): [2], ("s", 1): [1]}


def test_a_set_never_changes() -> None:
    """What a failed checkpoint made is just dropped."""
    before = LayerSet().with_file(file("a", entry(1)))
    before.with_file(file("b", entry(2, floor=2)))
    assert epochs(before) == {("s", 0): [1]}


def test_packed_files_take_the_place_of_their_sources() -> None:
    """Also when one of them has died meanwhile, or all of what was packed."""
    layers = LayerSet().with_file(file("a", entry(1))).with_file(file("b", entry(2)))
    packed = file("p", entry(1), entry(2))
    assert list(layers.with_packed(["a", "b"], packed).files) == ["p"]
    grown = layers.with_file(file("c", entry(3, floor=2)))
    assert sorted(grown.with_packed(["a", "b"], packed).files) == ["c", "p"]
    assert epochs(grown.with_packed(["a", "b"], packed)) == {("s", 0): [2, 3]}
    done = grown.with_file(file("d", entry(4, floor=4)))
    assert list(done.with_packed(["a", "b"], packed).files) == ["d"]


def test_subtasks_that_are_no_more() -> None:
    """After scaling down their layers are dead, and stay so after scaling up again."""
    layers = LayerSet().with_file(file("a", entry(1), entry(1, subtask=1)))
    narrow = layers.for_stages({"s": 1})
    assert epochs(narrow) == {("s", 0): [1]}
    wide = narrow.with_file(file("b", entry(2, floor=2, subtask=1)))
    assert epochs(wide) == {("s", 0): [1], ("s", 1): [2]}
    assert layers.for_stages({"s": 2}) is layers
    assert layers.for_stages({}).files == {}


def test_misfits() -> None:
    """The newest layer must make the version that the engine believes in."""
    layers = LayerSet().with_file(file("a", entry(1), entry(2)))
    assert layers.misfit({("s", 0): "v2"}) is None
    assert "newest layer makes v2" in str(layers.misfit({("s", 0): "v1"}))
    assert "newest layer makes (none)" in str(layers.misfit({("s", 1): "v2"}))


def test_layers_that_are_in_already() -> None:
    """Handing them over twice must not replay them twice."""
    layers = LayerSet().with_file(file("a", entry(2)))
    assert layers.has(entry(2))
    assert layers.has(entry(1))
    assert not layers.has(entry(3))
    assert not layers.has(entry(1, subtask=1))
