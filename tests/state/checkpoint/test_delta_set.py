"""Which deltas and files are alive."""

from __future__ import annotations

from millrace.state.checkpoint.delta_file import DeltaEntry, DeltaFile, DeltaFileRef
from millrace.state.checkpoint.delta_set import DeltaSet
from millrace.state.state_delta import FileRef, StateDelta


def entry(epoch: int, low_epoch: int = 0, subtask: int = 0, stage: str = "s") -> DeltaEntry:
    return stage, subtask, StateDelta(epoch, f"v{epoch}", low_epoch, FileRef("f", 0, 0, 0))


def file(name: str, *entries: DeltaEntry) -> DeltaFile:
    return DeltaFile(DeltaFileRef(name, 0, 0, 0, len(entries)), entries)


def epochs(deltas: DeltaSet) -> dict[tuple[str, int], list[int]]:
    return {key: [delta.epoch for delta in found] for key, found in deltas.by_subtask().items()}


def test_a_low_epoch_kills_what_is_below_it() -> None:
    """Deltas die one by one, a file with its last delta."""
    deltas = DeltaSet().with_file(file("a", entry(1), entry(2)))
    assert epochs(deltas) == {("s", 0): [1, 2]}
    deltas = deltas.with_file(file("b", entry(3, low_epoch=2)))
    assert epochs(deltas) == {("s", 0): [2, 3]}
    assert list(deltas.files) == ["a", "b"]
    deltas = deltas.with_file(file("c", entry(4, low_epoch=3)))
    assert list(deltas.files) == ["b", "c"]


def test_the_highest_low_epoch_counts() -> None:
    """A worker that joined late may report a lower one."""
    deltas = DeltaSet().with_file(file("a", entry(5, low_epoch=5))).with_file(file("b", entry(6)))
    assert deltas.low_epochs == {("s", 0): 5}


def test_subtasks_are_independent() -> None:
    """One subtask's low epoch does not touch another's deltas."""
    deltas = DeltaSet().with_file(file("a", entry(1), entry(1, subtask=1)))
    deltas = deltas.with_file(file("b", entry(2, low_epoch=2)))
    assert epochs(deltas) == {("s", 0): [2], ("s", 1): [1]}


def test_a_set_never_changes() -> None:
    """What a failed checkpoint made is just dropped."""
    before = DeltaSet().with_file(file("a", entry(1)))
    before.with_file(file("b", entry(2, low_epoch=2)))
    assert epochs(before) == {("s", 0): [1]}


def test_packed_files_take_the_place_of_their_sources() -> None:
    """Also when one of them has died meanwhile, or all of what was packed."""
    deltas = DeltaSet().with_file(file("a", entry(1))).with_file(file("b", entry(2)))
    packed = file("p", entry(1), entry(2))
    assert list(deltas.with_packed(["a", "b"], packed).files) == ["p"]
    grown = deltas.with_file(file("c", entry(3, low_epoch=2)))
    assert sorted(grown.with_packed(["a", "b"], packed).files) == ["c", "p"]
    assert epochs(grown.with_packed(["a", "b"], packed)) == {("s", 0): [2, 3]}
    done = grown.with_file(file("d", entry(4, low_epoch=4)))
    assert list(done.with_packed(["a", "b"], packed).files) == ["d"]


def test_subtasks_that_are_no_more() -> None:
    """After scaling down their deltas are dead, and stay so after scaling up again."""
    deltas = DeltaSet().with_file(file("a", entry(1), entry(1, subtask=1)))
    narrow = deltas.for_stages({"s": 1})
    assert epochs(narrow) == {("s", 0): [1]}
    wide = narrow.with_file(file("b", entry(2, low_epoch=2, subtask=1)))
    assert epochs(wide) == {("s", 0): [1], ("s", 1): [2]}
    assert deltas.for_stages({"s": 2}) is deltas
    assert deltas.for_stages({}).files == {}


def test_misfits() -> None:
    """The newest delta must make the version that the engine believes in."""
    deltas = DeltaSet().with_file(file("a", entry(1), entry(2)))
    assert deltas.misfit({("s", 0): "v2"}) is None
    assert "newest delta makes v2" in str(deltas.misfit({("s", 0): "v1"}))
    assert "newest delta makes (none)" in str(deltas.misfit({("s", 1): "v2"}))


def test_deltas_that_are_in_already() -> None:
    """Handing them over twice must not replay them twice."""
    deltas = DeltaSet().with_file(file("a", entry(2)))
    assert deltas.has(entry(2))
    assert deltas.has(entry(1))
    assert not deltas.has(entry(3))
    assert not deltas.has(entry(1, subtask=1))
