"""Windows of time (Flink docs, "Windows")."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass
from io import BytesIO

from millrace.common.types.serializer import TypeSerializer
from millrace.common.window.base_window import Window
from millrace.common.window.merge_callback import MergeCallback

__all__ = ["TimeWindow", "TimeWindowSerializer"]

BOUNDS = struct.Struct(">qq")


# Not frozen: that takes half as long again to make, and windows are made per record.
@dataclass(slots=True, order=True, unsafe_hash=True)
class TimeWindow(Window):
    """A window from ``start`` (inclusive) to ``end`` (exclusive), in ms since the epoch. It must
    not be changed.

    Example:
        >>> TimeWindow(0, 1000).max_timestamp()
        999
        >>> TimeWindow(0, 10).cover(TimeWindow(5, 20))
        TimeWindow(start=0, end=20)
    """

    start: int
    end: int

    def max_timestamp(self) -> int:
        return self.end - 1

    def intersects(self, other: TimeWindow) -> bool:
        """Whether this window and another one overlap or touch."""
        return self.start <= other.end and self.end >= other.start

    def cover(self, other: TimeWindow) -> TimeWindow:
        """The smallest window that contains this window and another one."""
        return TimeWindow(min(self.start, other.start), max(self.end, other.end))

    @staticmethod
    def get_window_start_with_offset(timestamp: int, offset: int, window_size: int) -> int:
        """Start of the window of a size, aligned to ``offset``, that holds the timestamp."""
        return timestamp - (timestamp - offset) % window_size

    @staticmethod
    def merge_windows(windows: Iterable[TimeWindow], callback: MergeCallback[TimeWindow]) -> None:
        """Call ``callback`` for each group of windows that overlap or touch."""
        group: list[TimeWindow] = []
        cover = TimeWindow(0, 0)
        for window in sorted(windows):
            if group and cover.intersects(window):
                group.append(window)
                cover = cover.cover(window)
                continue
            if len(group) > 1:
                callback.merge(group, cover)
            group, cover = [window], window
        if len(group) > 1:
            callback.merge(group, cover)


class TimeWindowSerializer(TypeSerializer[TimeWindow]):
    """Serializer of a time window: start and end in sixteen bytes, big-endian."""

    def serialize(self, element: TimeWindow, stream: BytesIO) -> None:
        stream.write(BOUNDS.pack(element.start, element.end))

    def deserialize(self, stream: BytesIO) -> TimeWindow:
        return TimeWindow(*BOUNDS.unpack(stream.read(BOUNDS.size)))
