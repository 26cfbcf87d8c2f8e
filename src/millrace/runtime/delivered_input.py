"""What the executor has brought to a source subtask, put in order."""

from __future__ import annotations

from collections.abc import Iterable

from millrace.runtime.buffer import Buffer
from millrace.runtime.subtask_input import IncompleteInputError

__all__ = ["by_lane"]


def by_lane(buffers: Iterable[Buffer]) -> dict[int, list[memoryview]]:
    """The payloads by lane, in the order of partitions and of the pieces of each.

    Raises:
        IncompleteInputError: pieces of a partition are missing, or of two attempts: when it is
            computed again, it may be another one.
    """
    lanes: dict[int, list[memoryview]] = {}
    attempts: dict[int, tuple[int, int]] = {}
    for buffer in sorted(buffers, key=_place):
        partition = buffer.watermark
        attempt, expected = attempts.get(partition, (buffer.attempt, 0))
        if buffer.attempt != attempt or buffer.sequence != expected:
            raise IncompleteInputError(f"partition {partition} of a DataFrame was read in part")
        attempts[partition] = attempt, expected + 1
        lanes.setdefault(buffer.channel, []).append(memoryview(buffer.payload))
    return lanes


def _place(buffer: Buffer) -> tuple[int, int, int]:
    return buffer.channel, buffer.watermark, buffer.sequence
