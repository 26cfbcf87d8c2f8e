"""Lost and frozen workers of resident tasks: real processes, real kills, exact results."""

from __future__ import annotations

import os
import re
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from forked_tasks import ForkingStarter

from millrace.common import Configuration, WatermarkStrategy
from millrace.common.errors import JobExecutionError
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.job_launcher import JobLauncher
from millrace.engine import epoch_runner
from millrace.engine.job_details import JobDetails
from millrace.engine.resident.resident_executor import ResidentExecutor
from millrace.engine.resident.tasks import ResidentSettings
from millrace.runtime.epoch import EpochPlan
from millrace.runtime.resident.connection import FrameConnection
from millrace.runtime.turn_record import RecordedTurn, TurnRecord, read_turn
from millrace.testing.allowance import Allowance, AllowedNumbers

PARALLELISM = 4
SHARE = 400
"""Numbers of an epoch."""
KEYS = 50


@pytest.fixture
def starter() -> Iterator[ForkingStarter]:
    starter = ForkingStarter()
    settings = ResidentSettings(barrier_interval=20, heartbeat_timeout=1.5)
    before = JobLauncher.current()
    executor = lambda *_: ResidentExecutor(starter, PARALLELISM, settings)  # noqa: E731
    JobLauncher.install(JobLauncher(executor=executor))
    yield starter
    JobLauncher.install(before)


def check_counts(
    hurt: Callable[[JobDetails], None],
    is_over: Callable[[], bool],
    directory: Path,
    further_epochs: int = 3,
) -> None:
    """Compare running counts per key with the expected ones, while something is done to the workers
    after accepted epochs. The job goes on until that is over, and some epochs longer."""
    config = Configuration()
    config.set_string("execution.runtime-mode", "STREAMING")
    config.set_string("execution.checkpointing.interval", "0 ms")
    config.set_string("execution.checkpointing.dir", str(directory / "checkpoints"))
    env = StreamExecutionEnvironment.get_execution_environment(config)
    env.set_parallelism(PARALLELISM)
    allowance = Allowance(directory / "allowed", SHARE)
    env.launcher.listeners += [hurt, allowance.grow_until(is_over, further_epochs)]
    source = AllowedNumbers(allowance, PARALLELISM)
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    pairs = numbers.map(lambda number: (number % KEYS, 1))
    found = Counter(pairs.key_by(lambda pair: pair[0]).sum(1).execute_and_collect())
    assert found == Counter((n % KEYS, n // KEYS + 1) for n in range(allowance.count))


@pytest.mark.parametrize("kills", [3, pytest.param(20, marks=pytest.mark.torture)])
def test_killed_workers_lose_and_double_nothing(
    kills: int, starter: ForkingStarter, tmp_path: Path
) -> None:
    killed: list[int | None] = []

    def kill(details: JobDetails) -> None:
        if len(killed) < kills and details.epochs > 2 * len(killed):
            _, process = starter.running.processes[3 * len(killed) % PARALLELISM]
            if process.pid not in killed:
                killed.append(process.pid)
                process.kill()

    check_counts(kill, lambda: len(killed) == kills, tmp_path)
    assert len(killed) == kills


def test_a_frozen_worker_is_replaced_and_refused_when_it_wakes(
    starter: ForkingStarter, tmp_path: Path
) -> None:
    frozen: list[int] = []

    def freeze(details: JobDetails) -> None:
        if not frozen and details.epochs == 2:
            _, process = starter.running.processes[1]
            assert process.pid is not None
            frozen.append(process.pid)
            os.kill(process.pid, signal.SIGSTOP)

    check_counts(freeze, lambda: bool(frozen), tmp_path)
    assert starter.running.processes[1][1].pid != frozen[0]


def test_a_connection_that_breaks_when_the_next_epoch_begins(
    starter: ForkingStarter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The checkpoint of the epoch before is being written: the loss is handled afterwards."""
    begin = ResidentExecutor.begin_epoch
    broken: list[FrameConnection] = []

    def begin_broken(executor: ResidentExecutor, plan: EpochPlan) -> None:
        if not broken:
            broken.append(executor._tasks[1].control)
            broken[0].is_open = False  # as a send that fails leaves it
        begin(executor, plan)

    monkeypatch.setattr(ResidentExecutor, "begin_epoch", begin_broken)
    check_counts(lambda details: None, lambda: bool(broken), tmp_path)
    assert broken


@pytest.mark.parametrize(
    "die",
    [lambda: os._exit(7), lambda: os.kill(os.getpid(), signal.SIGKILL)],
    ids=["exit", "kill"],
)
def test_the_operator_in_which_a_worker_dies_is_named(
    die: Callable[[], None],
    starter: ForkingStarter,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def deadly(value: int) -> int:
        if value == 3:
            die()
        return value

    monkeypatch.setattr(epoch_runner, "INFRASTRUCTURE_RETRIES", 0)
    settings = {
        "execution.runtime-mode": "STREAMING",
        "execution.checkpointing.dir": str(tmp_path),
    }
    env = StreamExecutionEnvironment.get_execution_environment(Configuration(settings))
    env.set_parallelism(2)
    numbers = env.from_collection([1, 2, 3]).map(lambda v: v).name("harmless")
    deaths = numbers.key_by(lambda v: v % 2).map(deadly).name("deadly")
    deaths.key_by(lambda v: v).map(lambda v: v).name("after it").print()
    with pytest.raises(JobExecutionError) as caught:
        env.execute("deadly")
    text = str(caught.value)
    assert re.search(r"worker forked:\d+ died in 'deadly' \(subtask [01]\): it was killed", text)
    assert not list(tmp_path.glob("**/running"))


def test_a_worker_that_is_killed_between_two_turns_blames_no_operator(tmp_path: Path) -> None:
    path = str(tmp_path / "running" / "worker.turn")
    record = TurnRecord(path)
    turn = RecordedTurn("run", 3, 1, "deadly")
    record.begin(turn.encode())
    assert read_turn(path) == turn
    record.end()
    assert read_turn(path) is None
    record.close()
    assert not list((tmp_path / "running").iterdir())


def test_the_record_of_turns_outlives_a_killed_process(tmp_path: Path) -> None:
    path = str(tmp_path / "running" / "worker.turn")
    turn = RecordedTurn("run", 3, 1, "deadly")
    if (child := os.fork()) == 0:
        TurnRecord(path).begin(turn.encode())
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    assert read_turn(path) == turn
