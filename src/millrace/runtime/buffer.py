"""Buffers: what flows between stages. One buffer holds up to thousands of records."""

from __future__ import annotations

import struct
from enum import IntEnum
from typing import NamedTuple

_HEADER = struct.Struct("<IHIQIBqI")
MIN_WATERMARK = -(1 << 63)
MAX_WATERMARK = (1 << 63) - 1


class BufferKind(IntEnum):
    """What a buffer's payload is."""

    RECORDS = 0
    END = 1
    """The last one of a producer in an epoch: `size` tells how many buffers came before it."""
    ACK = 2
    COLUMNS = 3
    """Records as the next batch of the Arrow IPC stream that this producer sends this target."""
    COLUMNS_BEGIN = 4
    """The same, of a stream that begins with this buffer: its schema comes first."""


class Buffer(NamedTuple):
    """One element of an exchange."""

    target: int
    """The subtask it is for."""
    edge: int
    channel: int
    """The subtask it is from."""
    attempt: int
    """The task attempt that made it."""
    sequence: int
    kind: int
    watermark: int
    """The producer's watermark after this buffer (ms since the epoch)."""
    size: int
    """END: buffers before it. Otherwise: records in it."""
    payload: bytes

    def pack(self) -> bytes:
        """The buffer as bytes."""
        return _HEADER.pack(*self[:8]) + self.payload

    @staticmethod
    def unpack(data: bytes) -> Buffer:
        """The buffer that `pack` wrote."""
        return Buffer._make((*_HEADER.unpack_from(data), data[_HEADER.size :]))


IDLE = b"\x01"
ACTIVE = b"\x00"
"""Payloads of an END buffer: the producer's watermark status."""


def in_order(buffer: Buffer) -> tuple[int, int, int]:
    """The order in which a subtask takes its input, whatever order Spark delivers it in."""
    return buffer.edge, buffer.channel, buffer.sequence
