"""Ledger of the segments that are in use and of those that have expired."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping

from millrace.state.checkpoint.delta_file import SUFFIX, DeltaEntry, SubtaskKey
from millrace.state.state_delta import FileRef

__all__ = ["SegmentLedger"]


class SegmentLedger:
    """Segments of live deltas per subtask, in epoch order. The cost of `expire` depends only on the
    number of segments that expire.
    """

    def __init__(self) -> None:
        self._segments: dict[SubtaskKey, deque[tuple[int, str]]] = {}

    def add(self, entries: Iterable[DeltaEntry]) -> None:
        """Record the segments of new deltas."""
        for stage, subtask, delta in entries:
            if isinstance(delta.data, FileRef) and not delta.data.path.endswith(SUFFIX):
                segments = self._segments.setdefault((stage, subtask), deque())
                segments.append((delta.epoch, delta.data.path))

    def expire(self, low_epochs: Mapping[SubtaskKey, int]) -> list[str]:
        """Remove the segments of deltas below the low epochs from the ledger, and return these
        segments.
        """
        dead: list[str] = []
        for key, segments in list(self._segments.items()):
            low_epoch = low_epochs.get(key)
            while segments and (low_epoch is None or segments[0][0] < low_epoch):
                dead.append(segments.popleft()[1])
            if not segments:
                del self._segments[key]
        return dead

    def remove(self, paths: Collection[str]) -> list[str]:
        """Remove segments without live deltas from the ledger; returns the paths that were in
        the ledger."""
        removed: list[str] = []
        for key, segments in list(self._segments.items()) if paths else []:
            removed += [path for _, path in segments if path in paths]
            self._segments[key] = deque(s for s in segments if s[1] not in paths)
        return removed

    def __iter__(self) -> Iterator[str]:
        """Paths of all segments in use."""
        return (path for segments in self._segments.values() for _, path in segments)
