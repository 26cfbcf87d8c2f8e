"""Busy, back-pressured and idle ms per second of a whole job on resident tasks."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from types import SimpleNamespace
from typing import ClassVar

import pytest

from millrace.common import Configuration, WatermarkStrategy
from millrace.connectors import NumberSequenceSource
from millrace.datastream import MapFunction, StreamExecutionEnvironment
from millrace.datastream.job_launcher import JobLauncher
from millrace.engine import job_manager
from millrace.engine.job_details import JobDetails, SubtaskDetails
from millrace.engine.resident.tasks import ResidentSettings
from millrace.runtime.resident import resident_subtask, resident_worker
from millrace.runtime.resident.load_meter import LoadMeter
from millrace.testing import CollectingSink
from millrace.testing.resident_tasks import local_resident_executor

RECORDS = 300
READING_S, WORKING_S = 0.002, 0.01
"""Seconds that the functions of the two first stages take for a record."""


class Clock:
    """Seconds that pass only while a function works."""

    seconds: ClassVar[float] = 0.0

    @classmethod
    def now(cls) -> float:
        return cls.seconds


class Takes(MapFunction[int, int]):
    """Takes so many seconds for each record."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def map(self, value: int) -> int:
        Clock.seconds += self._seconds
        return value


@pytest.fixture(autouse=True)
def _clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """All durations are by the manual clock, and only waits by the real one."""
    Clock.seconds = 0.0
    names = ("monotonic", "time", "thread_time", "perf_counter")
    real = {name: getattr(time, name) for name in names}
    clocks = SimpleNamespace(**{**real, "perf_counter": Clock.now, "thread_time": Clock.now})
    monkeypatch.setattr(resident_subtask, "time", clocks)
    monkeypatch.setattr(resident_subtask, "LoadMeter", partial(LoadMeter, Clock.now))
    monkeypatch.setattr(resident_worker, "time", clocks)
    driver = SimpleNamespace(perf_counter=Clock.now, monotonic=Clock.now)
    monkeypatch.setattr(job_manager, "time", driver)


@pytest.fixture(autouse=True)
def _resident() -> Iterator[None]:
    before = JobLauncher.current()
    # no barrier before the end: a source waits for the next epoch behind it, for real time
    settings = ResidentSettings(barrier_interval=3_600_000)
    JobLauncher.install(JobLauncher(executor=lambda *_: local_resident_executor(1, settings)))
    yield
    JobLauncher.install(before)


def loads() -> dict[str, SubtaskDetails]:
    """Details at the end of a job in which a fast source feeds a slow operator, whose results go
    to an operator that takes no time. One worker runs all three."""
    config = Configuration({"execution.runtime-mode": "STREAMING"})
    env = StreamExecutionEnvironment.get_execution_environment(config).set_parallelism(1)
    seen: list[JobDetails] = []
    env.launcher.listeners.append(seen.append)
    source = NumberSequenceSource(1, RECORDS, splits=1)
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    read = numbers.map(Takes(READING_S)).name("read").key_by(lambda n: n % 7)
    worked = read.map(Takes(WORKING_S)).name("work").key_by(lambda n: n % 7)
    worked.map(Takes(0)).name("rest").sink_to(CollectingSink())
    env.execute("loads")
    names = ("read", "work", "rest")
    stages = seen[-1].stages
    return {name: stage.subtasks[0] for name in names for stage in stages if name in stage.name}


def test_each_subtask_tells_what_it_did_with_its_time() -> None:
    found = loads()
    assert Clock.seconds == pytest.approx(RECORDS * (READING_S + WORKING_S))
    read, work, rest = found["read"], found["work"], found["rest"]
    assert read.back_pressured_ms_per_second > 500
    assert read.busy_ms_per_second >= 1000 * READING_S / (READING_S + WORKING_S) - 1
    assert work.busy_ms_per_second >= 1000 * WORKING_S / (READING_S + WORKING_S) - 1
    assert work.back_pressured_ms_per_second == pytest.approx(0)
    assert rest.idle_ms_per_second == pytest.approx(1000)
    for subtask in found.values():
        measured = subtask.busy_ms_per_second + subtask.back_pressured_ms_per_second
        assert measured <= 1000
        assert measured + subtask.idle_ms_per_second == pytest.approx(1000)


def test_times_of_each_subtask_add_up_to_the_time_of_the_job() -> None:
    found = loads()
    passed_ms = 1000 * Clock.seconds
    for subtask in found.values():
        lived_ms = subtask.busy_ms + subtask.back_pressured_ms + subtask.idle_ms
        assert lived_ms == pytest.approx(passed_ms, abs=2)
    assert found["read"].busy_ms >= 1000 * RECORDS * READING_S - 1
    assert found["work"].busy_ms >= 1000 * RECORDS * WORKING_S - 1
    assert found["read"].back_pressured_ms > 500
    assert found["rest"].idle_ms == pytest.approx(passed_ms, abs=1)
