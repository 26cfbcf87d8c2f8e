"""What is done to attempts of epochs from other threads."""

from __future__ import annotations

from typing import Any, cast

from millrace.engine.epoch_runner import EpochRunner


class CancelledExecutor:
    """Counts how often it is cancelled."""

    cancelled = 0

    def cancel(self) -> None:
        self.cancelled += 1


def test_only_the_attempt_that_runs_can_fail() -> None:
    executor = CancelledExecutor()
    nothing = cast(Any, None)
    runner = EpochRunner(cast(Any, executor), nothing, nothing, nothing, nothing, nothing)
    runner.fail(0, 0, "not begun")
    runner._running = (0, 1)
    runner.fail(0, 0, "has ended, its successor runs")
    assert executor.cancelled == 0
    runner.fail(0, 1, "takes too long")
    assert executor.cancelled == 1
