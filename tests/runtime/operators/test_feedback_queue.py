"""Queue of records that are fed back: first in, first out, in memory and on disk."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.runtime.operators import feedback_queue
from millrace.runtime.operators.feedback_queue import FeedbackQueue
from millrace.state.serialization.payload import decode

PUTS = st.lists(st.tuples(st.integers(0, 9), st.booleans()), max_size=30)


def drained(queue: FeedbackQueue, limit: int) -> list[tuple[Any, Any]]:
    records: list[tuple[Any, Any]] = []
    while (taken := queue.take(limit)) is not None:
        values, timestamps = taken
        assert 0 < len(values) <= limit
        records += zip(values, timestamps or [None] * len(values), strict=True)
    return records


@given(PUTS, st.integers(0, 40), st.integers(1, 12), st.integers(0, 4))
def test_records_keep_their_order_and_their_times(puts, most, limit, taken_between) -> None:
    queue, expected, found, number = FeedbackQueue(most), [], [], 0
    for at, (size, timed) in enumerate(puts):
        values = list(range(number, number + size))
        number += size
        expected += [(value, value if timed else None) for value in values]
        queue.put(values, list(values) if timed else None)
        if taken_between and at % taken_between == 0 and (taken := queue.take(limit)):
            found += zip(taken[0], taken[1] or [None] * len(taken[0]), strict=True)
        assert queue.size == len(expected) - len(found)
    stored = [
        pair
        for values, times in map(decode, queue.encoded())
        for pair in zip(values, times or [None] * len(values), strict=True)
    ]
    assert stored == expected[len(found) :]
    found += drained(queue, limit)
    assert (found, queue.size) == (expected, 0)
    queue.clear()


def test_lists_that_were_put_are_not_changed() -> None:
    queue, first = FeedbackQueue(), [1]
    queue.put(first, None)
    queue.put([2], None)
    assert (queue.take(5), first) == (([1, 2], None), [1])


def test_a_queue_that_was_cleared_takes_records_again() -> None:
    queue = FeedbackQueue(2)
    for number in range(5):
        queue.put([number, number], None)
    queue.clear()
    queue.put([7], None)
    assert (queue.size, queue.take(3), queue.take(3)) == (1, ([7], None), None)


def test_files_are_deleted_although_records_always_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as in a loop whose records go round for ever."""
    monkeypatch.setattr(feedback_queue, "_MOST_OF_A_FILE", 2_000)
    queue, written = FeedbackQueue(10), []
    write = feedback_queue._File.write

    def noted(file: Any, payload: bytes) -> tuple[int, int]:
        written.append(file)
        return write(file, payload)

    monkeypatch.setattr(feedback_queue._File, "write", noted)
    for _ in range(30):
        queue.put([1, 2], None)
    for _ in range(2_000):
        taken = queue.take(2)
        assert taken is not None
        queue.put(*taken)
    files = list(dict.fromkeys(written))
    assert len(files) > 10
    assert sum(not file._file.closed for file in files) <= 3


def test_few_records_wait_in_memory_again() -> None:
    queue = FeedbackQueue(10)
    for number in range(30):
        queue.put([number], None)
    assert [queue.take(1) for _ in range(26)] == [([number], None) for number in range(26)]
    queue.put([30], None)
    assert not queue._spilled
    assert drained(queue, 9) == [(number, None) for number in range(26, 31)]


@pytest.mark.parametrize("most", [0, 100_000])
def test_a_big_batch_is_encoded_in_parts_that_a_rescaling_can_divide(most: int) -> None:
    queue = FeedbackQueue(most)
    queue.put(list(range(10_000)), None)
    queue.put(list(range(10_000, 10_010)), None)
    batches = [decode(payload)[0] for payload in queue.encoded()]
    assert [value for batch in batches for value in batch] == list(range(10_010))
    assert max(map(len, batches)) <= 4096
    queue.clear()
