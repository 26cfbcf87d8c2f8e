"""Barrier alignment before a subtask."""

from __future__ import annotations

import pytest

from millrace.runtime.buffer import Buffer, BufferKind, end_of
from millrace.runtime.resident.gate import InputGate
from millrace.runtime.subtask_input import IncompleteInputError

A, B = (0, 0), (0, 1)


def records(channel: tuple[int, int], sequence: int) -> Buffer:
    return Buffer(0, channel[0], channel[1], 1, sequence, BufferKind.RECORDS, 0, 1, b"r")


def barrier(channel: tuple[int, int], sent: int) -> Buffer:
    return end_of(0, channel[0], channel[1], 1, 0, False, [sent])


def opened(*channels: tuple[int, int]) -> InputGate:
    gate = InputGate(channels)
    gate.open()
    return gate


def test_a_barrier_that_comes_before_the_first_epoch_begins_is_of_that_epoch() -> None:
    """A producer with a quicker process may have ended it already."""
    gate = InputGate([A, B])
    gate.put_barrier(A, barrier(A, 0), 0, False)
    gate.open()
    assert gate.take() is None
    gate.put_barrier(B, barrier(B, 0), 0, False)
    assert gate.is_aligned


def test_an_epoch_is_ending_from_its_first_barrier_on() -> None:
    gate = InputGate([A, B])
    gate.put_barrier(A, barrier(A, 0), 0, False)
    gate.open()
    assert gate.is_ending
    for _ in range(3):
        assert gate.take() is None
        gate.put_barrier(B, barrier(B, 0), 0, False)
        assert gate.is_ending
        assert gate.is_aligned
        gate.open()
        assert not gate.is_ending
        gate.put(B, records(B, 0))
        gate.put_barrier(A, barrier(A, 0), 0, False)
        assert gate.is_ending
        assert gate.take() == (B, records(B, 0))
        gate.put_barrier(B, barrier(B, 1), 1, False)
        gate.open()
        gate.put_barrier(A, barrier(A, 0), 0, False)


def test_a_channel_with_a_barrier_waits_for_the_others() -> None:
    gate = opened(A, B)
    for buffer in (records(A, 0), barrier(A, 1), records(A, 0)):
        gate.put(A, buffer)
    assert gate.take() == (A, records(A, 0))
    assert gate.take() is None
    assert not gate.is_aligned
    gate.put(B, records(B, 0))
    assert gate.take() == (B, records(B, 0))
    gate.put(B, barrier(B, 1))
    assert gate.take() is None
    assert gate.is_aligned
    gate.open()
    assert gate.take() == (A, records(A, 0))
    assert gate.take() is None


def test_channels_take_turns() -> None:
    gate = opened(A, B)
    for sequence in range(2):
        gate.put(A, records(A, sequence))
        gate.put(B, records(B, sequence))
    taken = [gate.take() for _ in range(4)]
    assert [found[0] for found in taken if found is not None] == [A, B, A, B]


def test_a_missing_buffer_is_noticed_at_the_barrier() -> None:
    gate = opened(A)
    gate.put(A, records(A, 0))
    gate.put(A, barrier(A, 2))
    gate.take()
    with pytest.raises(IncompleteInputError, match="1 of 2 buffers"):
        gate.take()
