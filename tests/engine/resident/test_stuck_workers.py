"""Workers of resident tasks that hang in a function of the user, or cannot load their program."""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from forked_tasks import ForkingStarter

from millrace.common import Configuration
from millrace.common.errors import JobExecutionError
from millrace.common.restart_strategy import RestartStrategies
from millrace.datastream import MapFunction, RuntimeContext, StreamExecutionEnvironment
from millrace.datastream.job_launcher import JobLauncher
from millrace.engine import epoch_watch
from millrace.engine.resident import resident_executor
from millrace.engine.resident.resident_executor import ResidentExecutor
from millrace.engine.resident.tasks import ResidentSettings
from millrace.testing.resident_tasks import local_resident_executor

SETTINGS = ResidentSettings(barrier_interval=30)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(epoch_watch, "POLL", 0.005)
    monkeypatch.setattr(resident_executor, "LONG_TURN", 0.01)
    monkeypatch.setattr(resident_executor, "LONG_SILENCE", 0.5)
    monkeypatch.setattr(resident_executor, "RETURN_PATIENCE", 0.1)
    before = JobLauncher.current()
    JobLauncher.install(JobLauncher(executor=lambda *_: local_resident_executor(2, SETTINGS)))
    yield
    JobLauncher.install(before)


def environment(directory: Path) -> StreamExecutionEnvironment:
    settings = {
        "execution.runtime-mode": "STREAMING",
        "execution.checkpointing.dir": str(directory),
        "millrace.epoch.timeout": "50 ms",
        "millrace.executor": "resident",
    }
    env = StreamExecutionEnvironment.get_execution_environment(Configuration(settings))
    return env.set_parallelism(2)


class Held(MapFunction):
    """Function that hangs until its epoch is cancelled."""

    released: ClassVar[threading.Event]

    def __init__(self, in_open: bool) -> None:
        self.in_open = in_open

    def open(self, context: RuntimeContext) -> None:
        if self.in_open:
            assert Held.released.wait(60)

    def map(self, value: int) -> int:
        if not self.in_open:
            assert Held.released.wait(60)
        return value


@pytest.mark.parametrize("in_open", [False, True], ids=["map", "open"])
def test_a_function_that_hangs_ends_the_job_after_the_time_of_an_epoch(
    in_open: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cancel = ResidentExecutor.cancel

    def cancelled(executor: ResidentExecutor, only: tuple[int, int] | None = None) -> None:
        Held.released.set()
        cancel(executor, only)

    monkeypatch.setattr(Held, "released", threading.Event(), raising=False)
    monkeypatch.setattr(ResidentExecutor, "cancel", cancelled)
    env = environment(tmp_path)
    env.from_collection(range(4)).key_by(lambda n: n % 2).map(Held(in_open)).print()
    with pytest.raises(JobExecutionError, match=r"millrace\.epoch\.timeout"):
        env.execute("stuck")


def test_a_call_that_keeps_the_interpreter_ends_the_job_after_the_time_of_an_epoch(
    tmp_path: Path,
) -> None:
    """No other thread of the worker runs, so that it sends no heartbeats, and no news."""
    starter = ForkingStarter()
    JobLauncher.install(JobLauncher(executor=lambda *_: ResidentExecutor(starter, 2, SETTINGS)))

    def stand_still(number: int) -> int:
        if number == 7:
            ctypes.PyDLL(None).usleep(300_000_000)  # a PyDLL keeps the lock
        return number

    env = environment(tmp_path)
    numbers = env.from_collection(range(10)).key_by(lambda n: n % 2)
    numbers.map(stand_still).name("Enrich").print()
    with pytest.raises(JobExecutionError, match=r"millrace\.epoch\.timeout"):
        env.execute("stuck")


def missing_module() -> Any:
    raise ModuleNotFoundError("No module named 'their_library'")


class Unloadable:
    """Key selector of a class that only the driver has."""

    def __reduce__(self) -> Any:
        return missing_module, ()

    def __call__(self, value: int) -> int:
        return value


def test_a_program_that_workers_cannot_load_fails_at_once(tmp_path: Path) -> None:
    """Whatever the restart strategy: it would fail again."""
    env = environment(tmp_path)
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(1000, 60_000))
    env.from_collection([1]).key_by(Unloadable()).map(lambda n: n).print()
    with pytest.raises(JobExecutionError) as caught:
        env.execute("unloadable")
    text = str(caught.value)
    assert "cannot load the program" in text
    assert "in missing_module" in text
    assert "ModuleNotFoundError: No module named 'their_library'" in text
    assert "lost" not in text
