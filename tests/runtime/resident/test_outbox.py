"""Buffers of one subtask on their way to other subtasks."""

from __future__ import annotations

import pytest

from millrace.common.errors import JobExecutionError
from millrace.runtime.buffer import Buffer, BufferKind, end_of, status_of
from millrace.runtime.resident import outbox as outbox_module
from millrace.runtime.resident.credits import FIRST_CREDIT
from millrace.runtime.resident.outbox import UNLIMITED, Outbox

EDGE = 4


class Sent(list[tuple[int, Buffer]]):
    """Buffers that were delivered, with their tasks."""

    def to(self, task: int) -> list[Buffer]:
        return [buffer for number, buffer in self if number == task]

    def __call__(self, task: int, buffer: Buffer) -> None:
        self.append((task, buffer))


def records(target: int, size: int, sequence: int = 0, edge: int = EDGE) -> Buffer:
    return Buffer(target, edge, 0, 1, sequence, BufferKind.RECORDS, 0, size, b"r")


def barrier(task: int, edge: int = EDGE) -> Buffer:
    return end_of(task, edge, 0, 1, 0, False, [1])


def test_buffers_within_the_credit_are_sent_at_once() -> None:
    sent = Sent()
    outbox = Outbox({EDGE: 4}, 2, sent)
    outbox.put([records(target, FIRST_CREDIT) for target in range(4)])
    assert [task for task, _ in sent] == [0, 1, 0, 1]
    assert not outbox.is_blocked


def test_one_buffer_may_exceed_the_credit() -> None:
    sent = Sent()
    outbox = Outbox({EDGE: 1}, 1, sent)
    outbox.put([records(0, 1000, 0), records(0, 1, 1)])
    assert [buffer.sequence for _, buffer in sent] == [0]
    assert outbox.is_blocked
    outbox.add_credit(EDGE, 0, 1000 - FIRST_CREDIT)  # nothing is left
    assert outbox.is_blocked
    outbox.add_credit(EDGE, 0, 1)
    assert [buffer.sequence for _, buffer in sent] == [0, 1]
    assert not outbox.is_blocked


def test_a_barrier_waits_for_the_records_before_it() -> None:
    """It needs no credit, but its task must have the records first."""
    sent = Sent()
    outbox = Outbox({EDGE: 2}, 2, sent)
    outbox.put([records(0, FIRST_CREDIT), records(0, 1), barrier(0), barrier(1)])
    assert [b.kind for b in sent.to(0)] == [BufferKind.RECORDS]
    assert [b.kind for b in sent.to(1)] == [BufferKind.END]
    outbox.add_credit(EDGE, 0, 1)
    assert [b.kind for b in sent.to(0)] == [BufferKind.RECORDS, BufferKind.RECORDS, BufferKind.END]


def test_a_watermark_waits_for_the_records_before_it() -> None:
    sent = Sent()
    outbox = Outbox({EDGE: 1}, 1, sent)
    status = status_of(0, EDGE, 0, 1, 5, False)
    outbox.put([records(0, FIRST_CREDIT), records(0, 1), status])
    outbox.add_credit(EDGE, 0, 1)
    assert [b.kind for b in sent.to(0)][-1] == BufferKind.STATUS


def test_buffers_of_one_task_keep_their_order_whatever_their_subtask() -> None:
    """Subtasks 0 and 2 are of task 0: the barrier is for both."""
    sent = Sent()
    outbox = Outbox({EDGE: 3}, 2, sent)
    outbox.put([records(0, FIRST_CREDIT), records(0, 1, 1), records(2, 1, 2), barrier(0)])
    assert len(sent) == 1
    outbox.add_credit(EDGE, 2, 5)  # the one that waits at the head is for 0
    assert len(sent) == 1
    outbox.add_credit(EDGE, 0, 5)
    assert [(b.target, b.kind) for b in sent.to(0)[1:]] == [
        (0, BufferKind.RECORDS),
        (2, BufferKind.RECORDS),
        (0, BufferKind.END),
    ]


def test_a_slow_task_holds_up_no_other_and_no_other_edge() -> None:
    sent = Sent()
    outbox = Outbox({EDGE: 2, 5: 1}, 2, sent)
    outbox.put([records(0, FIRST_CREDIT), records(0, 1), records(1, 1), records(0, 1, edge=5)])
    assert [(task, b.edge) for task, b in sent] == [(0, EDGE), (1, EDGE), (0, 5)]
    assert outbox.is_blocked


def test_room_is_that_of_the_smallest_window() -> None:
    outbox = Outbox({EDGE: 2}, 2, Sent())
    assert outbox.room() == FIRST_CREDIT
    outbox.put([records(1, 12)])
    assert outbox.room() == FIRST_CREDIT  # pieces do not become smaller as a window fills
    outbox.put([records(1, 12)])
    outbox.add_credit(EDGE, 1, 13)
    assert outbox.room() == FIRST_CREDIT - 11  # the target was slow, and grants less
    outbox.add_credit(EDGE, 0, 1000)
    assert outbox.room() == FIRST_CREDIT - 11
    outbox.add_credit(EDGE, 1, 1000)
    assert outbox.room() == FIRST_CREDIT - 11 + 1000
    assert Outbox({}, 2, Sent()).room() == UNLIMITED


def test_a_target_that_gets_nothing_does_not_make_pieces_small() -> None:
    """As all but one of a forward edge, or of a key with all records."""
    outbox = Outbox({EDGE: 2}, 2, Sent())
    outbox.put([records(1, 12)])
    outbox.add_credit(EDGE, 1, 5000)
    assert outbox.room() == FIRST_CREDIT - 12 + 5000


def test_producers_share_the_first_credit() -> None:
    sent = Sent()
    outbox = Outbox({EDGE: 1, 5: 1}, 1, sent, {EDGE: 8})
    assert outbox.room() == FIRST_CREDIT // 8
    outbox.put([records(0, FIRST_CREDIT // 8), records(0, 1)])
    assert len(sent) == 1
    assert Outbox({EDGE: 1}, 1, sent, {EDGE: 1000}).room() == 1


def test_the_share_of_the_target_that_gets_most_follows_the_last_records() -> None:
    outbox = Outbox({EDGE: 4}, 1, Sent())
    assert outbox.peak_share == 1
    for _ in range(100):
        outbox.put(records(target, 100) for target in range(4))
    assert outbox.peak_share == pytest.approx(0.25, rel=0.1)
    for _ in range(20):
        outbox.put(records(target, 850 if target == 2 else 50) for target in range(4))
    assert outbox.peak_share == pytest.approx(0.85, rel=0.1)


def test_a_record_that_is_too_big_for_a_frame_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox_module, "MOST_PAYLOAD", 3)
    outbox = Outbox({EDGE: 1}, 1, Sent())
    with pytest.raises(JobExecutionError, match="a record of 4 bytes"):
        outbox.put([records(0, 1)._replace(payload=b"four")])
