"""Splits: the parts of its input that a source's readers read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

__all__ = ["AssignedSplit", "SourceEvent", "SourceSplit"]


@dataclass(frozen=True)
class SourceSplit:
    """A part of the input that one reader reads; subclasses add what the reader needs.

    Must be picklable. ``split_id`` is unique within its source and stable across restarts.
    """

    split_id: str


class AssignedSplit(NamedTuple):
    """A split for a reader, and where to go on in it."""

    split: Any
    """Of the source's own subclass of `SourceSplit`."""
    position: Any = None
    """The position from `SourceReader.snapshot_state`; None: the start of the split."""
    end: Any = None
    """The position at which this run ends (`SplitEnumerator.available_now_end`), which the reader
    tells with `SplitRecords.at_end`; None: wherever the split ends by itself."""


class SourceEvent:
    """A message between a source's enumerator and its readers; subclasses say what it means.

    Must be picklable. It arrives with the next epoch, exactly once as far as an epoch counts: what
    readers of a failed epoch sent is forgotten, what they were sent is sent again.
    """
