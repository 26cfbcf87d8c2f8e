"""Which segments are in use."""

from __future__ import annotations

from millrace.state.checkpoint.delta_file import DeltaEntry
from millrace.state.checkpoint.segment_ledger import SegmentLedger
from millrace.state.state_delta import FileRef, StateDelta


def entry(subtask: int, epoch: int, path: str) -> DeltaEntry:
    return "s", subtask, StateDelta(epoch, f"v{epoch}", 0, FileRef(path, 0, 1, 0))


def ledger() -> SegmentLedger:
    made = SegmentLedger()
    made.add([entry(0, 1, "a"), entry(0, 2, "b"), entry(1, 1, "c"), entry(1, 2, "d.deltas")])
    return made


def test_deltas_within_delta_files_are_no_segments() -> None:
    """Those go with their file."""
    assert sorted(ledger()) == ["a", "b", "c"]


def test_segments_below_the_low_epoch_expire() -> None:
    """And those of subtasks that are no more."""
    segments = ledger()
    assert segments.expire({("s", 0): 2, ("s", 1): 0}) == ["a"]
    assert segments.expire({("s", 0): 2}) == ["c"]
    assert list(segments) == ["b"]


def test_removed_segments_do_not_expire_again() -> None:
    """What is removed twice is told once."""
    segments = ledger()
    assert segments.remove({"a", "c", "e"}) == ["a", "c"]
    assert segments.remove({"a"}) == []
    assert segments.expire({}) == ["b"]
    assert list(segments) == []
