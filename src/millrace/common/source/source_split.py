"""Splits: the parts of a source's input."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

__all__ = ["AssignedSplit", "SourceEvent", "SourceSplit"]


@dataclass(frozen=True)
class SourceSplit:
    """A part of the input for one reader; subclasses add the data that the reader needs.

    Must be picklable. ``split_id`` is unique within its source and stable across restarts.
    """

    split_id: str


class AssignedSplit(NamedTuple):
    """A split for a reader, with its start position."""

    split: Any
    """An instance of the source's own subclass of `SourceSplit`."""
    position: Any = None
    """The position from `SourceReader.snapshot_state`; None for the start of the split."""
    end: Any = None
    """The position at which this run ends (`SplitEnumerator.available_now_end`), which the reader
    tells with `SplitRecords.at_end`; None: wherever the split ends by itself."""


class SourceEvent:
    """An event between a source's enumerator and its readers; subclasses give it content.

    Must be picklable. It arrives with the next epoch, exactly once as far as an epoch counts: what
    readers of a failed epoch sent is forgotten, what they were sent is sent again.
    """
