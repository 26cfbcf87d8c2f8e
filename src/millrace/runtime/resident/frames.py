"""Frames: the messages between the processes of a job, each with a length and a kind.

Only buffers and control messages of authenticated peers are decoded; a greeting is plain bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from enum import IntEnum

from millrace.common.errors import MillraceError

__all__ = [
    "MOST_BYTES",
    "MOST_PAYLOAD",
    "NOTICES",
    "PREFIX",
    "Body",
    "Frame",
    "FrameKind",
    "FrameReader",
    "TransportError",
    "framed",
]

PREFIX = struct.Struct("<IB")
"""Length of the body in bytes, and kind of the frame."""
MOST_BYTES = 1 << 30
"""Longest body that is accepted. A longer one is a stranger's, or garbage."""
MOST_PAYLOAD = MOST_BYTES - 4096
"""Longest payload of a buffer, whose head has room beside it, and of an acknowledgement."""
UNKNOWN_BYTES = 4096
"""Longest body that is accepted from a peer that has not been authenticated."""

NOTICES = b" notices"
"""Mark in a heartbeat: notices of new kinds wait for the end of the epoch."""

_SHORT = 1 << 16
"""Bytes of a frame that is received together with others, and then copied."""

Body = bytes | bytearray
"""Body of a frame. It belongs to its receiver."""
Frame = tuple[int, Body]
"""(Kind, body)."""


class TransportError(MillraceError):
    """A peer violated the protocol, or its connection broke."""


class FrameKind(IntEnum):
    """Kind of a frame."""

    GREETING = 0
    """First frame of each connection. See `greeting`."""
    BUFFER = 1
    """Packed buffer of an exchange."""
    CREDIT = 2
    """Records that a producer may send to a subtask."""
    WIRE = 3
    """Driver to worker: connect to the other workers, for a new attempt."""
    WIRED = 4
    """Worker to driver: all connections of the attempt are made."""
    EPOCH = 5
    """Driver to worker: plan of the next epoch."""
    BARRIER = 6
    """Driver to worker: sources end the open epoch."""
    ACK = 7
    """Worker to driver: encoded list of the acknowledgements of some subtasks."""
    NEWS = 8
    """Worker to driver: the open epoch has something to commit, or nothing more to read."""
    LOST = 9
    """Worker to driver: the connection to another worker broke."""
    RETURN = 10
    """Driver to worker: leave the loop, and end the Spark task."""
    HEARTBEAT = 11
    """Worker to driver: the process is not frozen. Contains the seconds of the running turn, and
    `NOTICES` if notices of new kinds wait for the end of the epoch."""
    REFUSED = 12
    """Worker to driver: the program, or a plan, cannot be loaded."""
    HALT = 13
    """Driver to worker: the attempt is over. Its subtasks wait for the next one."""
    PREPARE = 14
    """Driver to worker: the job is about to be rescaled. Contains the program for a task that has
    none."""
    PREPARED = 15
    """Worker to driver: what a rescaling needs is loaded."""


def framed(kind: FrameKind, *body: bytes | memoryview) -> list[bytes | memoryview]:
    """A frame in pieces, so that a big body is not copied. The body may come in pieces, too."""
    pieces = [piece for piece in body if len(piece)]
    return [PREFIX.pack(sum(map(len, pieces)), kind), *pieces]


class FrameReader:
    """Cuts received bytes into frames. The body of a long frame is received directly into its own
    memory, without a copy.

    Example:
        >>> reader = FrameReader()
        >>> data = b"".join(framed(FrameKind.WIRED, b"3"))
        >>> for part in data[:4], data[4:]:
        ...     reader.space()[: len(part)] = part
        ...     print(list(reader.received(len(part))))
        []
        [(4, b'3')]
    """

    def __init__(self, limit: int = MOST_BYTES) -> None:
        self._waiting = bytearray(_SHORT)
        """Received bytes that are no complete frame yet, between `_at` and `_end`."""
        self._at = self._end = 0
        self._body: bytearray | None = None
        """Body of a long frame, whose first bytes have been received."""
        self._kind = self._received = 0
        """Kind of the long frame, and number of its body's received bytes."""
        self.limit = limit
        """Longest accepted body in bytes."""

    def space(self) -> memoryview:
        """Memory for the next received bytes; never empty. The caller then calls `received`."""
        if self._body is not None:
            return memoryview(self._body)[self._received :]
        if self._at:  # little is left of a frame that is cut
            rest = self._waiting[self._at : self._end]
            self._waiting[: len(rest)] = rest
            self._at, self._end = 0, len(rest)
        return memoryview(self._waiting)[self._end :]

    def received(self, count: int) -> Iterator[Frame]:
        """Frames that are complete after ``count`` bytes have been written into the `space`.

        Raises:
            TransportError: a frame is longer than the limit.
        """
        if self._body is None:
            self._end += count
            yield from self._frames()
            return
        self._received += count
        if self._received == len(self._body):
            frame, self._body = (self._kind, self._body), None
            yield frame

    def _frames(self) -> Iterator[Frame]:
        waiting, size = self._waiting, PREFIX.size
        while self._end - self._at >= size:
            length, kind = PREFIX.unpack_from(waiting, self._at)
            if length > self.limit:
                raise TransportError(f"a frame of {length} bytes, more than {self.limit}")
            begin = self._at + size
            if size + length > _SHORT:
                self._begin_long(kind, length, memoryview(waiting)[begin : self._end])
                return
            if self._end < begin + length:
                return
            self._at = begin + length
            yield kind, bytes(memoryview(waiting)[begin : self._at])

    def _begin_long(self, kind: int, length: int, first: memoryview) -> None:
        """Begin a long frame with the bytes of its body that have been received."""
        self._body, self._kind, self._received = bytearray(length), kind, len(first)
        self._body[: len(first)] = first
        self._at = self._end = 0
