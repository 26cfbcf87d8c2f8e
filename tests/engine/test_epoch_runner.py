"""What is done to attempts of epochs from other threads."""

from __future__ import annotations

from typing import Any, cast

from millrace.engine.epoch_runner import EpochRunner


class CancelledExecutor:
    """Notes the attempts that are cancelled."""

    def __init__(self) -> None:
        self.cancelled: list[tuple[int, int] | None] = []

    def cancel(self, only: tuple[int, int] | None = None) -> None:
        self.cancelled.append(only)


def test_only_the_attempt_that_runs_can_fail() -> None:
    executor = CancelledExecutor()
    nothing = cast(Any, None)
    runner = EpochRunner(cast(Any, executor), nothing, nothing, nothing, nothing, nothing)
    runner.fail(0, 0, "not begun")
    runner._running = (0, 1)
    runner.fail(0, 0, "has ended, its successor runs")
    assert not executor.cancelled
    runner.fail(0, 1, "takes too long")
    assert executor.cancelled == [(0, 1)]
