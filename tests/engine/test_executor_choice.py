"""The choice of a job's executor."""

from __future__ import annotations

import re

import pytest

from millrace.engine.executor_choice import ExecutorKind, SlotCount, choose_executor

EPOCHS, RESIDENT = ExecutorKind.EPOCHS, ExecutorKind.RESIDENT


@pytest.mark.parametrize(
    ("tasks", "slots", "kind", "reason"),
    [
        (2, SlotCount(4, 4), RESIDENT, "a streaming job, and 4 slots are free for 2 tasks"),
        (1, SlotCount(2, 2), RESIDENT, "a streaming job, and 2 slots are free for 1 task"),
        (2, SlotCount(4, 3), RESIDENT, "a streaming job, and 3 slots are free for 2 tasks"),
        # the last slot is for Spark's own work, and for jobs that come later
        (3, SlotCount(3, 3), RESIDENT, ".*3 slots are free for 2 tasks and for other work"),
        (8, SlotCount(8, 8), RESIDENT, ".*8 slots are free for 7 tasks .* it has 8 tasks"),
        (8, SlotCount(8, 7), RESIDENT, ".*7 slots are free for 6 tasks"),
        # one task for two cores would take half of the rate
        (2, SlotCount(2, 2), EPOCHS, "resident tasks need 3 free slots.*application has 2 of 2"),
        (1, SlotCount(1, 1), EPOCHS, "resident tasks need 2 free slots.*application has 1 of 1"),
        (8, SlotCount(8, 6), EPOCHS, "resident tasks need 7 free slots.*application has 6 of 8"),
        (2, SlotCount(8, 0), EPOCHS, "resident tasks need 3 free slots.*application has 0 of 8"),
        (2, SlotCount(8, 8, 1), EPOCHS, "another job runs on epochs .* and needs its slots"),
        (2, SlotCount(8, 8, 3), EPOCHS, "3 other jobs run on epochs .* and need its slots"),
    ],
)
def test_slots_decide(tasks: int, slots: SlotCount, kind: ExecutorKind, reason: str) -> None:
    choice = choose_executor(tasks, slots)
    assert choice.kind is kind
    assert re.match(reason, choice.reason), choice.reason
    assert str(choice) == f"{kind.value}: {choice.reason}"
