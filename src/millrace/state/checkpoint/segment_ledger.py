"""The ledger of segments: which are in use, and which have expired."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping

from millrace.state.checkpoint.delta_file import SUFFIX, DeltaEntry, SubtaskKey
from millrace.state.state_delta import FileRef

__all__ = ["SegmentLedger"]


class SegmentLedger:
    """The segments of live deltas per subtask, in epoch order: finding the dead ones costs no more
    than there are of them."""

    def __init__(self) -> None:
        self._segments: dict[SubtaskKey, deque[tuple[int, str]]] = {}

    def add(self, entries: Iterable[DeltaEntry]) -> None:
        """Note the segments that some new deltas refer to."""
        for stage, subtask, delta in entries:
            if isinstance(delta.data, FileRef) and not delta.data.path.endswith(SUFFIX):
                segments = self._segments.setdefault((stage, subtask), deque())
                segments.append((delta.epoch, delta.data.path))

    def expire(self, low_epochs: Mapping[SubtaskKey, int]) -> list[str]:
        """Forget the segments of deltas below the low epochs, and return them."""
        dead: list[str] = []
        for key, segments in list(self._segments.items()):
            low_epoch = low_epochs.get(key)
            while segments and (low_epoch is None or segments[0][0] < low_epoch):
                dead.append(segments.popleft()[1])
            if not segments:
                del self._segments[key]
        return dead

    def remove(self, paths: Collection[str]) -> list[str]:
        """Forget these, which live deltas do not refer to any more; returns those that were in."""
        found: list[str] = []
        for key, segments in list(self._segments.items()) if paths else []:
            found += [path for _, path in segments if path in paths]
            self._segments[key] = deque(s for s in segments if s[1] not in paths)
        return found

    def __iter__(self) -> Iterator[str]:
        """The paths of all that are in use."""
        return (path for segments in self._segments.values() for _, path in segments)
