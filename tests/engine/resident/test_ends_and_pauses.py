"""What subtasks of resident tasks do when their job ends, fails, or waits for its restart."""

from __future__ import annotations

import time
from collections.abc import Iterator
from threading import Event
from typing import Any, ClassVar

import pytest

from millrace.common import Configuration, WatermarkStrategy
from millrace.common.errors import JobCancelledError, JobExecutionError
from millrace.common.functions import RuntimeContext
from millrace.common.restart_strategy import RestartStrategies
from millrace.common.source import SourceSplit, SplitEnumerator
from millrace.connectors import DataGeneratorSource, RateLimiterStrategy
from millrace.datastream import DataStream, MapFunction, StreamExecutionEnvironment
from millrace.datastream.job_launcher import JobLauncher
from millrace.engine.clock import SystemClock
from millrace.engine.executor import ExecutorError
from millrace.engine.resident.resident_executor import ResidentExecutor
from millrace.engine.resident.tasks import ResidentSettings
from millrace.runtime.epoch import Ack, EpochPlan
from millrace.testing import CollectingSink
from millrace.testing.resident_tasks import local_resident_executor

SETTINGS = ResidentSettings(barrier_interval=30)


@pytest.fixture(autouse=True)
def resident() -> Iterator[None]:
    before = JobLauncher.current()
    JobLauncher.install(JobLauncher(executor=lambda *_: local_resident_executor(2, SETTINGS)))
    yield
    JobLauncher.install(before)


def environment() -> StreamExecutionEnvironment:
    config = Configuration({"execution.runtime-mode": "STREAMING"})
    return StreamExecutionEnvironment.get_execution_environment(config).set_parallelism(2)


def numbers(env: StreamExecutionEnvironment) -> DataStream[int]:
    """Numbers that never end, at a rate that leaves the machine idle."""
    rate = RateLimiterStrategy.per_second(500)
    source = DataGeneratorSource(lambda i: i, rate_limiter_strategy=rate, splits=2)
    return env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")


class Noted(MapFunction[int, int]):
    """Notes what happens to it. The tasks are threads of this process."""

    begun = Event()
    opened: ClassVar[set[int]] = set()
    closed: ClassVar[set[int]] = set()
    mapped: ClassVar[int] = 0
    has_failed: ClassVar[bool] = False

    @classmethod
    def forget(cls) -> None:
        cls.begun.clear()
        cls.opened, cls.closed, cls.mapped = set(), set(), 0
        cls.has_failed = False

    def open(self, context: RuntimeContext) -> None:
        self._subtask = context.get_index_of_this_subtask()
        Noted.opened.add(self._subtask)

    def map(self, value: int) -> int:
        Noted.mapped += 1
        Noted.begun.set()
        return value

    def close(self) -> None:
        Noted.closed.add(self._subtask)


def test_functions_are_closed_when_their_job_is_cancelled() -> None:
    Noted.forget()
    env = environment()
    numbers(env).map(Noted()).sink_to(CollectingSink())
    client = env.execute_async("cancelled")
    assert Noted.begun.wait(30)
    client.cancel().result()
    with pytest.raises(JobCancelledError):
        client.get_job_execution_result().result()
    assert Noted.closed == Noted.opened == {0, 1}


def test_functions_are_closed_when_another_one_fails() -> None:
    Noted.forget()

    def fail(value: int) -> int:
        raise ValueError("for good")

    env = environment()
    env.set_restart_strategy(RestartStrategies.no_restart())
    numbers(env).map(Noted()).rebalance().map(fail).sink_to(CollectingSink())
    with pytest.raises(JobExecutionError, match="for good"):
        env.execute("failing")
    assert Noted.closed == Noted.opened == {0, 1}


class Pause(SystemClock):
    """Looks, during the pause before a restart, whether records are still processed."""

    def __init__(self) -> None:
        self.is_quiet = False

    def wait_until(self, at: int | None, interrupted: Event) -> None:
        until = time.monotonic() + 20
        while not self.is_quiet and time.monotonic() < until:
            before = Noted.mapped
            time.sleep(0.1)  # 50 records, if the source were read
            self.is_quiet = Noted.mapped == before


def test_the_other_subtasks_wait_during_the_pause_before_a_restart() -> None:
    Noted.forget()
    pause = Pause()
    executor = lambda *_: local_resident_executor(2, SETTINGS)  # noqa: E731
    JobLauncher.install(JobLauncher(executor=executor, clock=pause))

    def fail_once(value: int) -> int:
        if not Noted.has_failed:
            Noted.has_failed = True
            raise ValueError("once")
        return value

    env = environment()
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(1, 60_000))
    results = numbers(env).map(Noted()).key_by(lambda n: 0).map(fail_once)
    with results.execute_and_collect() as collected:
        next(iter(collected))
    assert pause.is_quiet


class BrokenEnumerator(SplitEnumerator):
    """Finds a split, and then no directory."""

    looked = 0

    def discover(self, now: int) -> list[SourceSplit]:
        BrokenEnumerator.looked += 1
        if BrokenEnumerator.looked > 1:
            raise FileNotFoundError("the directory is gone")
        return []

    def no_more_splits(self) -> bool:
        return False

    def next_discovery(self, now: int) -> int | None:
        return now + 10

    def snapshot_state(self) -> None:
        return None

    def restore_state(self, state: Any) -> None:
        pass


class BrokenSource(DataGeneratorSource[int]):
    def create_enumerator(self) -> SplitEnumerator:
        return BrokenEnumerator()


def test_an_os_error_of_an_enumerator_is_no_lost_task() -> None:
    BrokenEnumerator.looked = 0
    env = environment()
    source = BrokenSource(lambda i: i)
    env.from_source(source, WatermarkStrategy.no_watermarks(), "gone").sink_to(CollectingSink())
    with pytest.raises(FileNotFoundError, match="the directory is gone"):
        env.execute("gone")
    assert BrokenEnumerator.looked == 2


def test_a_cancelled_attempt_that_has_ended_does_not_end_the_next_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A time-out may come in the instant in which its attempt ends."""
    run, attempts = ResidentExecutor.run_epoch, 0
    lost: list[ExecutorError] = []

    def run_late(executor: ResidentExecutor, plan: EpochPlan, hooks: Any = None) -> list[Ack]:
        nonlocal attempts
        attempts += 1
        try:
            acks = run(executor, plan, hooks)
        except ExecutorError as error:
            lost.append(error)
            raise
        executor.cancel((plan.epoch, plan.attempt))
        return acks

    monkeypatch.setattr(ResidentExecutor, "run_epoch", run_late)
    with numbers(environment()).execute_and_collect() as results:
        for _ in results:
            if attempts > 3:
                break
        assert not lost
