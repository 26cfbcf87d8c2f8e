"""Which segments are in use, and when one no longer is."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping

from millrace.state.checkpoint.layer_file import SUFFIX, LayerEntry, SubtaskKey
from millrace.state.layer import FileRef

__all__ = ["SegmentLedger"]


class SegmentLedger:
    """The segments of live layers per subtask, in epoch order: finding the dead ones costs no more
    than there are of them."""

    def __init__(self) -> None:
        self._segments: dict[SubtaskKey, deque[tuple[int, str]]] = {}

    def add(self, entries: Iterable[LayerEntry]) -> None:
        """Note the segments that some new layers refer to."""
        for stage, subtask, layer in entries:
            if isinstance(layer.data, FileRef) and not layer.data.path.endswith(SUFFIX):
                segments = self._segments.setdefault((stage, subtask), deque())
                segments.append((layer.epoch, layer.data.path))

    def expire(self, floors: Mapping[SubtaskKey, int]) -> list[str]:
        """Forget the segments of layers below the floors, and return them."""
        dead: list[str] = []
        for key, segments in list(self._segments.items()):
            floor = floors.get(key)
            while segments and (floor is None or segments[0][0] < floor):
                dead.append(segments.popleft()[1])
            if not segments:
                del self._segments[key]
        return dead

    def remove(self, paths: Collection[str]) -> list[str]:
        """Forget these, which live layers do not refer to any more; returns those that were in."""
        found: list[str] = []
        for key, segments in list(self._segments.items()) if paths else []:
            found += [path for _, path in segments if path in paths]
            self._segments[key] = deque(s for s in segments if s[1] not in paths)
        return found

    def __iter__(self) -> Iterator[str]:
        """The paths of all that are in use."""
        return (path for segments in self._segments.values() for _, path in segments)
