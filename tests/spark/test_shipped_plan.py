from __future__ import annotations

from pathlib import Path

import pytest

from millrace.runtime.epoch import EpochPlan, LiveStart, SubtaskPlan
from millrace.spark import shipped_plan
from millrace.spark.shipped_plan import decode_plan, encode_plan
from millrace.state.state_delta import StateDelta


def plan(directory: Path, size: int) -> EpochPlan:
    """Plan of two stages with five subtasks; ``size`` bytes that cannot be compressed for each."""
    import random

    noise = random.Random(1)
    subtasks = {
        (stage, index): SubtaskPlan(
            LiveStart(f"v{stage}-{index}", (StateDelta(1, "v", 0, noise.randbytes(size)),))
        )
        for stage in range(2)
        for index in range(5)
    }
    (directory / "shared").mkdir(exist_ok=True)
    return EpochPlan(7, 1, 5, str(directory), False, subtasks)


@pytest.mark.parametrize("size", [10, 2_000, 8_000, 40_000])
@pytest.mark.parametrize("tasks", [1, 2, 5])
def test_each_task_gets_the_plans_of_its_subtasks_only(tmp_path, size, tasks) -> None:
    whole = plan(tmp_path, size)
    text, file = encode_plan(whole, tasks)
    assert (file is not None) is (size > 4_000)
    found = {}
    for task in range(tasks):
        shipped_plan._known.clear()
        part = decode_plan(text, task)
        assert (part.epoch, part.attempt, part.now) == (7, 1, 5)
        assert {index % tasks for _, index in part.subtasks} == {task}
        found.update(part.subtasks)
    assert found == whole.subtasks


def test_the_last_plan_of_a_task_is_the_same_object_at_all_levels(tmp_path) -> None:
    text, _ = encode_plan(plan(tmp_path, 10), 2)
    first = [decode_plan(text, task) for task in range(2)]
    assert [decode_plan(text, task) for task in range(2)] == first
    assert all(decode_plan(text, task) is first[task] for task in range(2))
