"""Which segments are in use, and when one no longer is."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping

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

    def __iter__(self) -> Iterator[str]:
        """The paths of all that are in use."""
        return (path for segments in self._segments.values() for _, path in segments)
