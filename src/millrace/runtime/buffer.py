"""Buffers: the data that flows between stages. One buffer holds up to thousands of records."""

from __future__ import annotations

import struct
from array import array
from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple

from millrace.common.types.batch import Batch

_HEADER = struct.Struct("<BIHIQIBqI12x")
"""Header of 48 bytes, so that Arrow's arrays in a payload are aligned if the payload is."""
PACKED = 1
"""First byte of a packed buffer."""
_COUNT = struct.Struct("=I")
END_SEQUENCE = (1 << 32) - 1
"""Sequence number of END buffers: they come last."""
MIN_WATERMARK = -(1 << 63)
MAX_WATERMARK = (1 << 63) - 1


class BufferKind(IntEnum):
    """Kind of a buffer's payload."""

    RECORDS = 0
    END = 1
    """Last buffer of a producer in an epoch, for all the subtasks of a task. Made by `end_of`."""
    ACK = 2
    COLUMNS = 3
    """Records, as the next batch of the Arrow IPC stream from this producer to this target."""
    COLUMNS_BEGIN = 4
    """Records, as the first batch of a new Arrow IPC stream. The schema comes first."""
    DELIVERED = 5
    """Data that the executor brings to a source. Made by `delivered_to`."""
    STATUS = 6
    """Watermark of a producer, and whether it is idle, for all the subtasks of a task. Only
    resident tasks send it, within an epoch. Made by `status_of`."""
    HANDED_OVER = 7
    """Records as a batch that is not encoded, for a subtask of the same process. Only resident
    tasks send it."""


class Buffer(NamedTuple):
    """One element of an exchange."""

    target: int
    """Index of the target subtask. END: the first target subtask of the task."""
    edge: int
    channel: int
    """Index of the producing subtask."""
    attempt: int
    """Task attempt that made the buffer."""
    sequence: int
    kind: int
    watermark: int
    """The producer's watermark after this buffer, in ms since the epoch."""
    size: int
    """Number of records in the buffer. END: number of target subtasks."""
    payload: bytes | memoryview
    batch: Batch | None = None
    """Records of a `HANDED_OVER` buffer."""

    @property
    def is_for_task(self) -> bool:
        """Whether the buffer is for all subtasks of a task. `target` is then the first of these
        subtasks.
        """
        return self.kind in (BufferKind.END, BufferKind.STATUS)

    def pack(self) -> bytes:
        """The buffer as bytes."""
        return b"".join(self.packed())

    def packed(self) -> tuple[bytes, bytes | memoryview]:
        """The bytes of `pack` in two pieces, so that a big payload is not copied."""
        assert self.batch is None
        return _HEADER.pack(PACKED, *self[:8]), self.payload

    @staticmethod
    def unpack(data: bytes | bytearray) -> Buffer:
        """The buffer from the bytes of `pack`."""
        payload = memoryview(data).toreadonly()[_HEADER.size :]  # not copied: it may be megabytes
        return Buffer._make((*_HEADER.unpack_from(data)[1:], payload, None))


def delivered_to(
    subtask: int, stage: int, lane: int, partition: int, attempt: int, sequence: int, payload: bytes
) -> Buffer:
    """A buffer that carries a piece of a DataFrame partition to a lane of a source. As no edge
    leads there, the field for the edge has the stage's number, and the field for the watermark the
    partition's number.
    """
    kind = BufferKind.DELIVERED
    return Buffer(subtask, stage, lane, attempt, sequence, kind, partition, 0, payload)


_IDLE = 0x01


def end_of(
    target: int,
    edge: int,
    channel: int,
    attempt: int,
    watermark: int,
    idle: bool,
    sent: Sequence[int],
) -> Buffer:
    """END buffer of a producer for one task.

    ``sent`` tells how many buffers came before it for each of the task's subtasks; ``idle`` is the
    producer's watermark status.
    """
    payload = bytes([_IDLE if idle else 0]) + array("I", sent).tobytes()
    return Buffer(
        target, edge, channel, attempt, END_SEQUENCE, BufferKind.END, watermark, len(sent), payload
    )


def status_of(
    target: int, edge: int, channel: int, attempt: int, watermark: int, idle: bool
) -> Buffer:
    """STATUS buffer of a producer for one task."""
    payload = bytes([_IDLE if idle else 0])
    return Buffer(target, edge, channel, attempt, 0, BufferKind.STATUS, watermark, 0, payload)


def ends_idle(end: Buffer) -> bool:
    """Whether the producer of an END or STATUS buffer is idle."""
    return end.payload[0] == _IDLE


def all_sent_before(end: Buffer) -> array[int]:
    """Number of buffers that the producer sent before an END buffer, to each of the task's
    subtasks."""
    return array("I", bytes(end.payload[1:]))


def sent_before(end: Buffer, position: int) -> int:
    """Number of buffers that the producer sent before an END buffer, to the task's subtask
    number ``position``."""
    count: int = _COUNT.unpack_from(end.payload, 1 + position * _COUNT.size)[0]
    return count
