"""Input gate: buffers that wait before a subtask, and the alignment of barriers.

A channel whose barrier has arrived is blocked until the barriers of all channels are there
(Flink docs, "Stateful Stream Processing": barrier alignment).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from millrace.runtime.buffer import Buffer, BufferKind, sent_before
from millrace.runtime.subtask_input import IncompleteInputError
from millrace.runtime.watermark_valve import Channel

__all__ = ["InputGate"]


class InputGate:
    """Queues of one subtask's channels.

    Args:
        position: number of the subtask among those of its stage in this task.
    """

    def __init__(self, channels: Sequence[Channel], position: int = 0) -> None:
        self._queues: dict[Channel, deque[Buffer]] = {channel: deque() for channel in channels}
        self._position = position
        self.records = 0
        """Records that wait here."""
        self._ready: deque[Channel] = deque()
        """Channels with a buffer that may be taken, in the order in which they get their turn."""
        self._taken: dict[Channel, int] = {}
        """Number of buffers of each channel in this epoch."""
        # a producer that has begun its first epoch may be quicker than this subtask
        self._blocked: set[Channel] = set(self._queues)
        self._later: list[Channel] = []
        """Blocked channels with buffers of the next epoch."""
        self._barriers = len(self._queues)
        """Number of barriers that have arrived, and do not belong to an earlier epoch. Before the
        first epoch all channels count as if theirs had."""
        self.statuses: list[tuple[Channel, Buffer]] = []
        """Barriers of blocked channels that tell a new watermark or status."""

    @property
    def is_aligned(self) -> bool:
        """Whether the barriers of all channels have been taken."""
        return len(self._blocked) == len(self._queues)

    @property
    def is_ending(self) -> bool:
        """Whether a barrier of the open epoch has arrived. Records may still wait before it."""
        return self._barriers > 0

    @property
    def has_ready(self) -> bool:
        """Whether a buffer can be taken."""
        return bool(self._ready)

    def put(self, channel: Channel, buffer: Buffer) -> None:
        """Add a buffer that has arrived."""
        queue = self._queues[channel]
        queue.append(buffer)
        self.records += buffer.size
        if len(queue) == 1:
            (self._later if channel in self._blocked else self._ready).append(channel)

    def put_barrier(self, channel: Channel, barrier: Buffer, sent: int, is_news: bool) -> None:
        """Add a barrier that has arrived. A channel without waiting buffers is blocked immediately.
        This is the usual case, and must be fast: many subtasks have thousands of channels.

        Args:
            sent: number of buffers that the producer has sent to this subtask before it.
            is_news: whether the producer's watermark or status differs from what it told last.
        """
        self._barriers += 1
        if self._queues[channel] or channel in self._blocked:
            self.put(channel, barrier)
        else:
            self._block(channel, sent, barrier if is_news else None)

    def take(self) -> tuple[Channel, Buffer] | None:
        """The next buffer. None if there is no buffer, or if all channels with buffers are blocked.
        A barrier blocks its channel, and is not returned.

        Raises:
            IncompleteInputError: buffers are missing before a barrier.
        """
        while self._ready:
            channel = self._ready.popleft()
            queue = self._queues[channel]
            buffer = queue.popleft()
            self.records -= buffer.size
            if buffer.kind == BufferKind.END:
                self._block(channel, sent_before(buffer, self._position), buffer)
                if queue:
                    self._later.append(channel)
                continue
            if queue:
                self._ready.append(channel)
            if buffer.kind != BufferKind.STATUS:
                self._taken[channel] = self._taken.get(channel, 0) + 1
            return channel, buffer
        return None

    def _block(self, channel: Channel, sent: int, barrier: Buffer | None) -> None:
        taken = self._taken.pop(channel, 0)
        if taken != sent:
            raise IncompleteInputError(
                f"{taken} of {sent} buffers of channel {channel} have arrived"
            )
        self._blocked.add(channel)
        if barrier is not None:
            self.statuses.append((channel, barrier))

    def open(self) -> None:
        """Unblock all channels, for the next epoch."""
        self._barriers -= len(self._blocked)
        self._blocked.clear()
        self.statuses = []
        self._ready.extend(self._later)
        self._later.clear()
