"""The number of tasks changes while a job runs, as when an executor joins late."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from millrace.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from millrace.datastream.state import ValueStateDescriptor
from millrace.engine.executor import EpochHooks
from millrace.runtime.epoch import Ack, EpochPlan
from millrace.runtime.worker import Worker
from millrace.testing import run_local
from millrace.testing.local_executor import LocalExecutor

PARALLELISM = 7
RECORDS = 200


class Count(KeyedProcessFunction):
    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))

    def process_element(self, value, ctx):
        self.count.update((self.count.value() or 0) + 1)
        yield ctx.get_current_key(), self.count.value()


class GrowingExecutor(LocalExecutor):
    """A worker for each task; from the third epoch on there are more of both."""

    def __init__(self, before: int, after: int) -> None:
        super().__init__()
        self.tasks = before
        self._after = after
        self._of_task = [Worker(f"w{number}") for number in range(max(before, after))]
        self.found: Counter[str] = Counter()

    def run_epoch(self, plan: EpochPlan, hooks: EpochHooks | None = None) -> list[Ack]:
        if plan.epoch >= 2:
            self.tasks = self._after
        assert self._program is not None
        self._program = replace(self._program, tasks=self.tasks)
        acks = super().run_epoch(plan)
        self.found.update(ack.state.origin for ack in acks if ack.failure is None)
        return acks

    def _run_task(self, plan, level, partition, elements):
        self._workers = [self._of_task[partition]]
        return super()._run_task(plan, level, partition, elements)


@pytest.mark.parametrize(("before", "after"), [(1, 3), (2, 5), (2, 7), (4, 2), (3, 3)])
def test_subtasks_that_move_take_their_state_with_them(before, after) -> None:
    executors = []

    def executor() -> GrowingExecutor:
        executors.append(GrowingExecutor(before, after))
        return executors[-1]

    with run_local(epoch_records=2, executor=executor):
        env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(PARALLELISM)
        numbers = env.from_collection(list(range(RECORDS))).rebalance()
        counted = numbers.key_by(lambda n: n % 20).process(Count())
        found = list(counted.execute_and_collect())
    assert Counter(found) == Counter((n % 20, n // 20 + 1) for n in range(RECORDS))
    moved = executors[0].found["restored"] + executors[0].found["replayed"]
    assert (moved > 0) is (before != after)
    held = {key for worker in executors[0]._of_task for key in worker._subtasks}
    carried = sum(len(worker._subtasks) for worker in executors[0]._of_task)
    if executors[0].tasks >= before:
        assert carried == len(held), "whoever lost a subtask has dropped it"
