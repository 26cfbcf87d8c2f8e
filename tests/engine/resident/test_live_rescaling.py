"""Rescaling of jobs on resident tasks: tasks stay, come and go; results are exact."""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from forked_tasks import ForkingStarter

from millrace.common import Configuration, WatermarkStrategy
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.job_launcher import JobLauncher
from millrace.engine.job_details import JobDetails
from millrace.engine.resident import resident_executor
from millrace.engine.resident.resident_executor import ResidentExecutor
from millrace.engine.resident.tasks import ResidentSettings
from millrace.runtime.program import Program
from millrace.testing import resident_tasks
from millrace.testing.allowance import Allowance, AllowedNumbers
from millrace.testing.resident_tasks import ThreadStarter

SHARE = 400
"""Numbers of an epoch."""
KEYS = 50


@pytest.fixture
def install() -> Iterator[Callable[..., Any]]:
    """Function that lets jobs run on the tasks of a starter."""
    before = JobLauncher.current()

    def installed(starter: Any, tasks: int | None = None, **settings: Any) -> Any:
        of_job = ResidentSettings(barrier_interval=20, heartbeat_timeout=5.0, **settings)
        executor = lambda *_: ResidentExecutor(starter, tasks, of_job)  # noqa: E731
        JobLauncher.install(JobLauncher(executor=executor))
        return starter

    yield installed
    JobLauncher.install(before)


Act = Callable[[Any, JobDetails], None]


def check_counts(
    act: Act, is_over: Callable[[], bool], directory: Path, parallelism: int = 2
) -> None:
    """Compare running counts per key with the expected ones, while something happens after accepted
    epochs. The job goes on until that is over, and some epochs longer."""
    config = Configuration()
    config.set_string("execution.runtime-mode", "STREAMING")
    config.set_string("execution.checkpointing.interval", "0 ms")
    config.set_string("execution.checkpointing.dir", str(directory / "checkpoints"))
    env = StreamExecutionEnvironment.get_execution_environment(config)
    env.set_parallelism(parallelism)
    allowance = Allowance(directory / "allowed", SHARE)
    started: Future[Any] = Future()
    env.launcher.listeners += [
        lambda details: act(started.result(60), details),
        allowance.grow_until(is_over),
    ]
    source = AllowedNumbers(allowance, splits=4)
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    pairs = numbers.map(lambda number: (number % KEYS, 1))
    results = pairs.key_by(lambda pair: pair[0]).sum(1).execute_and_collect()
    started.set_result(results._client)
    assert Counter(results) == Counter((n % KEYS, n // KEYS + 1) for n in range(allowance.count))


class Changes:
    """Rescales a job, one change after the answer to the one before."""

    def __init__(self, widths: list[int], every: int = 3) -> None:
        self._left, self._every = list(widths), every
        self.answers: list[Any] = []
        self._since = 0

    def __call__(self, client: Any, details: JobDetails) -> None:
        self._since += 1
        if self.answers and not self.answers[-1].done():
            self._since = 0
        if self._left and self._since >= self._every:
            self._since = 0
            self.answers.append(client.rescale(self._left.pop(0)))

    def are_done(self) -> bool:
        """Whether all changes have been made."""
        return not self._left and all(answer.done() for answer in self.answers)

    def check(self) -> None:
        assert not self._left
        assert [answer.result(0) for answer in self.answers] == [None] * len(self.answers)


def test_tasks_stay_when_a_job_is_rescaled_and_others_join_them(
    install: Callable[..., Any], tmp_path: Path
) -> None:
    starter = install(ForkingStarter())
    changes, seen = Changes([4, 1, 3]), []

    def act(client: Any, details: JobDetails) -> None:
        seen.append([len(crew.processes) for crew in starter.crews])
        changes(client, details)

    check_counts(act, changes.are_done, tmp_path)
    changes.check()
    assert seen[-1] == [2, 2, 2]  # those that were not needed have returned


def test_further_tasks_load_the_program_while_the_job_runs_as_before(
    install: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its modules may take seconds, in which nobody waits."""
    install(ThreadStarter())
    changes, wired, early = Changes([4]), list[str](), set[str]()
    load, wire = resident_tasks.loaded, ResidentExecutor._wire

    def loaded(code: bytes) -> Program:
        program = load(code)
        if program.run_id not in wired:
            early.add(program.run_id)
        return program

    def noting_wire(executor: ResidentExecutor) -> None:
        assert executor._program is not None
        wired.append(executor._program.run_id)
        wire(executor)

    monkeypatch.setattr(resident_tasks, "loaded", loaded)
    monkeypatch.setattr(ResidentExecutor, "_wire", noting_wire)
    check_counts(changes, changes.are_done, tmp_path)
    changes.check()
    _, second = dict.fromkeys(wired)
    assert early == {second}


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.torture)])
def test_random_rescalings_in_threads(
    seed: int, install: Callable[..., Any], tmp_path: Path
) -> None:
    """More subtasks than tasks, fewer, and several programs with the same number of tasks."""
    install(ThreadStarter(), 3)
    chance = random.Random(seed)
    changes = Changes([chance.randint(1, 6) for _ in range(5)], 2)
    check_counts(changes, changes.are_done, tmp_path)
    changes.check()


@pytest.mark.parametrize("seed", [3, pytest.param(4, marks=pytest.mark.torture)])
def test_rescalings_with_kills_between(
    seed: int, install: Callable[..., Any], tmp_path: Path
) -> None:
    starter = install(ForkingStarter())
    chance = random.Random(seed)
    changes, killed = Changes([4, 2, 5, 1], 4), []

    def act(client: Any, details: JobDetails) -> None:
        changes(client, details)
        if details.epochs > 5 * (len(killed) + 1) and len(killed) < 5:
            alive = [
                p for crew in starter.crews for _, p in crew.processes.values() if p.is_alive()
            ]
            victim = chance.choice(alive)
            killed.append(victim.pid)
            victim.kill()

    check_counts(act, lambda: changes.are_done() and len(killed) == 5, tmp_path)
    changes.check()
    assert len(killed) == 5


def test_a_job_with_too_few_slots_for_more_tasks_is_rescaled_on_those_it_has(
    install: Callable[..., Any], tmp_path: Path
) -> None:
    starter = install(ForkingStarter(slots=2), 4)
    changes = Changes([4])
    check_counts(changes, changes.are_done, tmp_path)
    changes.check()
    assert [len(crew.processes) for crew in starter.crews] == [2]


def test_a_job_grows_into_slots_that_come(
    install: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resident_executor, "LOOK_INTERVAL", 0.05)
    starter = install(ForkingStarter(slots=1))

    def act(client: Any, details: JobDetails) -> None:
        if details.epochs == 3:
            starter.slots = 3

    check_counts(act, lambda: len(starter.crews) == 2, tmp_path, 3)
    assert [len(crew.processes) for crew in starter.crews] == [1, 2]


def test_tasks_of_an_executor_that_leaves_are_moved_without_a_loss(
    install: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resident_executor, "LOOK_INTERVAL", 0.05)
    starter = install(ForkingStarter())
    failures: list[str] = []

    def act(client: Any, details: JobDetails) -> None:
        if details.epochs == 3:
            crew = starter.crews[0]
            crew.left.add(crew.processes[1][0])
        failures.extend(entry.cause for entry in details.exceptions)

    def has_moved() -> bool:
        return len(starter.crews) == 2 and not starter.crews[0].processes[1][1].is_alive()

    check_counts(act, has_moved, tmp_path)
    assert [len(crew.processes) for crew in starter.crews] == [2, 1]
    assert not failures


def test_the_other_tasks_take_over_if_no_slot_comes_for_a_lost_one(
    install: Callable[..., Any], tmp_path: Path
) -> None:
    starter = install(ForkingStarter(slots=2), start_timeout=0.5)

    def act(client: Any, details: JobDetails) -> None:
        if details.epochs == 3:
            starter.slots = 1
            starter.crews[0].waiting.add(1)
            starter.crews[0].processes[1][1].kill()

    check_counts(act, lambda: starter.slots == 1, tmp_path)
    assert [len(crew.processes) for crew in starter.crews] == [2]


def test_a_job_that_has_lost_all_tasks_comes_back_with_as_many(
    install: Callable[..., Any], tmp_path: Path
) -> None:
    """The slots of ended tasks become free a little later, and one is to stay free beside them."""
    starter = install(ForkingStarter(slots=3), spare_slots=1)

    def act(client: Any, details: JobDetails) -> None:
        if details.epochs == 3:
            starter.slots = 1  # as long as the others count as held
            starter.running.cancel()

    check_counts(act, lambda: starter.slots == 1, tmp_path)
    assert [len(crew.processes) for crew in starter.crews] == [2, 2]


def test_further_tasks_leave_a_slot_free(install: Callable[..., Any], tmp_path: Path) -> None:
    starter = install(ForkingStarter(slots=4), spare_slots=1)
    changes, alive = Changes([4]), []

    def act(client: Any, details: JobDetails) -> None:
        alive.append(sum(process.is_alive() for process in starter.processes()))
        changes(client, details)

    check_counts(act, changes.are_done, tmp_path)
    changes.check()
    assert alive[-1] == max(alive) == 3  # of four slots
