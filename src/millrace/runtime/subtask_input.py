"""The input of a subtask in one epoch: complete, in order, and of one attempt of each producer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from millrace.runtime.buffer import Buffer, BufferKind, sent_before
from millrace.runtime.watermark_valve import Channel


class IncompleteInputError(Exception):
    """Buffers of an epoch are missing or mixed from several attempts: a producer failed, or Spark
    ran it twice. The epoch must run again."""


@dataclass(frozen=True)
class SubtaskInput:
    """Buffers sorted by channel."""

    ends: list[tuple[Channel, Buffer]]
    """The END buffer of every channel, in the order in which channels are taken."""
    records: dict[Channel, list[Buffer]]
    """Per channel that has sent some, its other buffers in order."""
    attempts: dict[int, tuple[int, ...]]
    """Per edge, the attempts of its producers."""

    @classmethod
    def sorted_out(
        cls, buffers: Iterable[Buffer], channels: Sequence[Channel], position: int
    ) -> SubtaskInput:
        """The input of subtask number ``position`` of its task, from buffers in any order.

        Raises IncompleteInputError unless just the buffers of one attempt of every producer are
        there.
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
