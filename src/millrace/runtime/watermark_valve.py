"""The watermark valve: a subtask's watermark is the minimum over its active input channels.

Semantics: Flink docs, "Generating Watermarks" (idle channels are left out).
"""

from __future__ import annotations

from millrace.runtime.buffer import MIN_WATERMARK

Channel = tuple[int, int]


class WatermarkValve:
    """Holds the watermark and status of each channel (edge, producer subtask)."""

    def __init__(self, channels: list[Channel]) -> None:
        self._watermarks = dict.fromkeys(channels, MIN_WATERMARK)
        self._idle: set[Channel] = set()
        self.watermark = MIN_WATERMARK
        """What has been let through so far; never goes back."""

    def advance(self, channel: Channel, watermark: int) -> bool:
        """A channel's watermark has come; True when the subtask's own advances with it."""
        if watermark <= self._watermarks[channel]:
            return False
        self._watermarks[channel] = watermark
        return self._let_through()

    def set_idle(self, channel: Channel, idle: bool) -> bool:
        """A channel became idle or active; True when the subtask's watermark advances."""
        if idle == (channel in self._idle):
            return False
        if idle:
            self._idle.add(channel)
        else:
            self._idle.discard(channel)
        return self._let_through()

    @property
    def idle(self) -> bool:
        """Whether all the channels are idle."""
        return len(self._idle) == len(self._watermarks)

    def _let_through(self) -> bool:
        idle = self._idle
        active = [mark for channel, mark in self._watermarks.items() if channel not in idle]
        lowest = min(active, default=MIN_WATERMARK)
        if lowest <= self.watermark:
            return False
        self.watermark = lowest
        return True

    def snapshot(self) -> tuple[list[tuple[int, int, int, bool]], int]:
        """The valve as plain data, part of every checkpoint."""
        rows = [(*c, mark, c in self._idle) for c, mark in self._watermarks.items()]
        return rows, self.watermark

    def restore(self, snapshot: tuple[list[tuple[int, int, int, bool]], int]) -> None:
        """Take over what `snapshot` gave, for the channels that still exist."""
        rows, self.watermark = snapshot
        for edge, subtask, mark, idle in rows:
            channel = (edge, subtask)
            if channel in self._watermarks:
                self._watermarks[channel] = mark
                if idle:
                    self._idle.add(channel)
