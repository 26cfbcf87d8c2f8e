"""What the executor brings to a subtask: in order, whole, and of one attempt."""

from __future__ import annotations

import random

import pytest

from millrace.runtime.buffer import Buffer, delivered_to
from millrace.runtime.subtask_input import IncompleteInputError, by_lane


def piece(lane: int, partition: int, number: int, attempt: int = 7) -> Buffer:
    payload = f"{partition}.{number}".encode()
    return Buffer.unpack(delivered_to(0, 3, lane, partition, attempt, number, payload).pack())


@pytest.mark.parametrize("seed", range(10))
def test_in_order(seed: int) -> None:
    pieces = [piece(partition % 2, partition, n) for partition in range(5) for n in range(3)]
    random.Random(seed).shuffle(pieces)
    found = {
        lane: [bytes(m).decode() for m in messages] for lane, messages in by_lane(pieces).items()
    }
    assert found == {
        lane: [f"{partition}.{n}" for partition in range(lane, 5, 2) for n in range(3)]
        for lane in range(2)
    }


@pytest.mark.parametrize(
    "pieces",
    [
        [piece(0, 0, 0), piece(0, 0, 2)],
        [piece(0, 0, 1)],
        [piece(0, 0, 0), piece(0, 0, 1, attempt=8)],
        [piece(0, 0, 0), piece(0, 0, 0)],
    ],
    ids=["hole", "no beginning", "two attempts", "twice"],
)
def test_incomplete(pieces: list[Buffer]) -> None:
    with pytest.raises(IncompleteInputError):
        by_lane(pieces)
