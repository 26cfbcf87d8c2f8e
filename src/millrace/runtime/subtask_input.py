"""Input of a subtask in one epoch: complete, in order, and of one attempt per producer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from millrace.runtime.buffer import Buffer, BufferKind, sent_before
from millrace.runtime.watermark_valve import Channel


class IncompleteInputError(Exception):
    """Buffers of an epoch are missing or come from several attempts: a producer failed, or Spark
    ran it twice. The epoch must run again."""


@dataclass(frozen=True)
class SubtaskInput:
    """Buffers of a subtask, sorted by channel."""

    ends: list[tuple[Channel, Buffer]]
    """END buffer of every channel, in the order of processing."""
    records: dict[Channel, list[Buffer]]
    """The other buffers in order, per channel that has sent some."""
    attempts: dict[int, tuple[int, ...]]
    """Attempts of the producers, per edge."""

    @classmethod
    def sorted_out(
        cls, buffers: Iterable[Buffer], channels: Sequence[Channel], position: int
    ) -> SubtaskInput:
        """Input of subtask number ``position`` of its task, sorted from buffers in any order.

        Raises IncompleteInputError unless there are all buffers of exactly one attempt of each
        producer.
        """
        ends: dict[Channel, Buffer] = {}
        records: dict[Channel, list[Buffer]] = {}
        for buffer in buffers:
            channel = buffer[1:3]
            if buffer.kind != BufferKind.END:
                records.setdefault(channel, []).append(buffer)
            elif ends.setdefault(channel, buffer) is not buffer:
                raise IncompleteInputError(f"channel {channel} ended twice")
        if len(ends) != len(channels) or not records.keys() <= ends.keys():
            raise IncompleteInputError(f"{len(ends)} of {len(channels)} channels ended")
        for channel, end in ends.items():
            _put_in_order(channel, records.get(channel, []), end, position)
        ordered = sorted(ends.items())
        attempts: dict[int, tuple[int, ...]] = {}
        for edge in {edge for edge, _ in channels}:
            attempts[edge] = tuple(end.attempt for channel, end in ordered if channel[0] == edge)
        return cls(ordered, records, attempts)


def _put_in_order(channel: Channel, arrived: list[Buffer], end: Buffer, position: int) -> None:
    expected = sent_before(end, position)
    if not expected and not arrived:
        return
    arrived.sort(key=_sequence)
    if [buffer.sequence for buffer in arrived] != list(range(expected)):
        raise IncompleteInputError(f"{len(arrived)} of {expected} buffers of channel {channel}")
    if any(buffer.attempt != end.attempt for buffer in arrived):
        raise IncompleteInputError(f"channel {channel} mixes attempts")


def _sequence(buffer: Buffer) -> int:
    return buffer.sequence


def by_lane(buffers: Iterable[Buffer]) -> dict[int, list[memoryview]]:
    """Payloads by lane, ordered by partition and piece.

    Raises:
        IncompleteInputError: pieces of a partition are missing, or come from two attempts, whose
            results may differ.
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
