"""Runs on resident tasks that are cut into flushes and barriers at random, and lose epochs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from hypothesis import strategies as st

from millrace.engine.executor import EpochHooks, ExecutorError
from millrace.engine.resident.resident_executor import ResidentExecutor
from millrace.engine.resident.tasks import ResidentSettings
from millrace.runtime.epoch import Ack, EpochPlan
from millrace.testing.resident_tasks import ThreadStarter

__all__ = ["RESIDENT_CUTS", "ResidentCut"]


@dataclass(frozen=True)
class ResidentCut:
    """How a run on resident tasks is cut.

    Attributes:
        buffer_timeout: seconds after which operators are flushed; 0: after each record. None: only
            before barriers.
        barrier_interval: milliseconds between barriers.
        epoch_records: records that an epoch reads of a split.
        lost_ahead: epochs that are lost at their beginning: subtasks may have begun them before
            their plans.
        lost: epochs that are lost at their end, when subtasks may have begun the ones after them.
    """

    buffer_timeout: float | None
    barrier_interval: int
    epoch_records: int = 1 << 62
    lost_ahead: frozenset[int] = frozenset()
    lost: frozenset[int] = frozenset()

    def executor(self) -> ResidentExecutor:
        """An executor with two tasks, in threads."""
        settings = ResidentSettings(self.barrier_interval, self.buffer_timeout)
        return _CutExecutor(self, ThreadStarter(), 2, settings)


class _CutExecutor(ResidentExecutor):
    """Gives small epochs, and loses some of them."""

    def __init__(self, cut: ResidentCut, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._cut = cut

    def begin_epoch(self, plan: EpochPlan) -> None:
        super().begin_epoch(self._limited(plan))

    def run_epoch(self, plan: EpochPlan, hooks: EpochHooks | None = None) -> list[Ack]:
        is_first = not plan.attempt
        if is_first and plan.epoch in self._cut.lost_ahead:
            raise ExecutorError("lost by the test")
        acks = super().run_epoch(self._limited(plan), hooks)
        if is_first and plan.epoch in self._cut.lost:
            raise ExecutorError("lost by the test")
        return acks

    def _limited(self, plan: EpochPlan) -> EpochPlan:
        most = self._cut.epoch_records
        subtasks = {
            place: replace(
                part, splits=tuple(replace(split, max_records=most) for split in part.splits)
            )
            for place, part in plan.subtasks.items()
        }
        return replace(plan, subtasks=subtasks)


_SOME_EPOCHS = st.frozensets(st.integers(0, 9), max_size=4)
RESIDENT_CUTS = st.builds(
    ResidentCut,
    st.sampled_from([0, 0.0005, 0.005, None]),
    st.sampled_from([1, 2, 10, 100]),
    st.sampled_from([2, 5, 1 << 62]),
    _SOME_EPOCHS,
    _SOME_EPOCHS,
)
