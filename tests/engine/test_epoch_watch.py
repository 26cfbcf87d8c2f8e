"""Epochs that take long are logged, and end when they may not take that long."""

from __future__ import annotations

import logging
import threading
from pathlib import Path

import pytest

from millrace.common import Configuration
from millrace.common.errors import JobExecutionError
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.job_launcher import JobLauncher
from millrace.engine import epoch_watch
from millrace.engine.epoch_watch import EpochWatch
from millrace.engine.executor import EpochHooks, ExecutorError
from millrace.engine.job_details import BusySubtask, EpochAttempt, JobDetails
from millrace.runtime.epoch import Ack, EpochPlan
from millrace.testing.local_executor import LocalExecutor

BUSY = BusySubtask("Enrich", 1, "host:7", 41.0, '  File "job.py", line 3, in enrich\n')


class StuckJob:
    def __init__(self) -> None:
        self.running: EpochAttempt | None = EpochAttempt(12, 0, 0, (BUSY,), 3, 4)
        self.failed: list[str] = []

    def details(self) -> JobDetails:
        return JobDetails(running=self.running)

    def fail_epoch(self, running: EpochAttempt, reason: str) -> None:
        self.failed.append(reason)


def test_what_is_stuck_is_logged_with_its_stack(caplog: pytest.LogCaptureFixture) -> None:
    """Again when it has taken twice as long, and anew with the next epoch."""
    job = StuckJob()
    watch = EpochWatch(job, 60_000)
    for second in range(130):
        watch.look(1000.0 + second)
    messages = [record.getMessage() for record in caplog.records]
    assert [text.splitlines()[0] for text in messages] == [
        "epoch 12 running for 1 min 0 s in 'Enrich' (subtask 1), 3 of 4 subtasks done",
        "epoch 12 running for 2 min 0 s in 'Enrich' (subtask 1), 3 of 4 subtasks done",
    ]
    assert "line 3, in enrich" in messages[0]
    assert caplog.records[0].levelno == logging.WARNING
    job.running = EpochAttempt(13, 0, 0)
    watch.look(1130.0)
    watch.look(1191.0)
    assert "epoch 13 running" in caplog.records[-1].getMessage()
    assert "no worker has reported" in caplog.records[-1].getMessage()
    assert not job.failed


def test_an_epoch_that_is_over_is_forgotten(caplog: pytest.LogCaptureFixture) -> None:
    job = StuckJob()
    watch = EpochWatch(job, 60_000, 60_000)
    watch.look(0.0)
    running, job.running = job.running, None
    watch.look(59.0)
    job.running = running
    watch.look(118.0)
    assert not caplog.records
    assert not job.failed


def test_an_epoch_that_takes_too_long_fails() -> None:
    job = StuckJob()
    watch = EpochWatch(job, 0, 30_000)
    watch.look(0.0)
    watch.look(29.0)
    assert not job.failed
    watch.look(30.0)
    [reason] = job.failed
    assert reason.startswith("epoch 12 running for 30 s in 'Enrich' (subtask 1)")
    assert "millrace.epoch.timeout" in reason
    assert "line 3, in enrich" in reason


class HangingExecutor(LocalExecutor):
    """The first attempts of epoch 0 go on until they are cancelled."""

    def __init__(self, hangs: int) -> None:
        super().__init__()
        self._hangs = hangs
        self._cancelled = threading.Event()

    def run_epoch(self, plan: EpochPlan, hooks: EpochHooks | None = None) -> list[Ack]:
        if plan.attempt < self._hangs:
            self._cancelled.clear()
            assert self._cancelled.wait(20)
            raise ExecutorError("cancelled")
        return super().run_epoch(plan)

    def cancel(self, only: tuple[int, int] | None = None) -> None:
        self._cancelled.set()


def run(tmp_path: Path, hangs: int, attempts: int) -> int:
    """Returns how often the job restarted."""
    settings = {
        "millrace.epoch.timeout": "20 ms",
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.attempts": str(attempts),
        "restart-strategy.fixed-delay.delay": "1 ms",
    }
    JobLauncher.install(JobLauncher(executor=lambda c, n, p: HangingExecutor(hangs)))
    try:
        env = StreamExecutionEnvironment.get_execution_environment(Configuration(settings))
        env.from_collection([1]).print()
        client = env.build_client("job")
        client.run()
        client.result()
        return client.progress().restarts
    finally:
        JobLauncher.install(None)


def test_the_restart_strategy_decides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(epoch_watch, "POLL", 0.005)
    assert run(tmp_path, hangs=2, attempts=2) == 2
    with pytest.raises(JobExecutionError, match=r"epoch 0, attempt 2, .*millrace\.epoch\.timeout"):
        run(tmp_path, hangs=2, attempts=1)
