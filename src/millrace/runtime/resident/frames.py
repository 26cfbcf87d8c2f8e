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

Frame = tuple[int, bytes]
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


def framed(kind: FrameKind, body: bytes | memoryview = b"") -> list[bytes | memoryview]:
    """A frame in pieces, so that a big body is not copied."""
    return [PREFIX.pack(len(body), kind), body] if len(body) else [PREFIX.pack(0, kind)]


class FrameReader:
    """Cuts received bytes into frames.

    Example:
        >>> reader = FrameReader()
        >>> data = b"".join(framed(FrameKind.WIRED, b"3"))
        >>> list(reader.feed(data[:4])), list(reader.feed(data[4:]))
        ([], [(4, b'3')])
    """

    def __init__(self, limit: int = MOST_BYTES) -> None:
        self._waiting = bytearray()
        self.limit = limit
        """Longest accepted body in bytes."""

    def feed(self, data: bytes | memoryview) -> Iterator[Frame]:
        """Complete frames, after ``data`` has been received.

        Raises:
            TransportError: a frame is longer than the limit.
        """
        waiting = self._waiting
        waiting += data
        at, size = 0, PREFIX.size
        try:
            while len(waiting) - at >= size:
                length, kind = PREFIX.unpack_from(waiting, at)
                if length > self.limit:
                    raise TransportError(f"a frame of {length} bytes, more than {self.limit}")
                end = at + size + length
                if len(waiting) < end:
                    break
                body = bytes(memoryview(waiting)[at + size : end])
                at = end
                yield kind, body
        finally:
            del waiting[:at]
