"""Hosts that vanish and wake up again: exact results, and never two attempts that write."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from threading import Timer

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from islands import LINK_TIMEOUT, Islands, IslandStarter
from test_losses import check_counts

from millrace.datastream.job_launcher import JobLauncher
from millrace.engine.job_details import JobDetails
from millrace.engine.resident.resident_executor import ResidentExecutor
from millrace.engine.resident.tasks import ResidentSettings

TASKS = 2
AWAKE = 30
"""Epochs that a job goes on beside a worker that has come back."""


@pytest.fixture
def islands() -> Iterator[Islands]:
    try:
        made = Islands(TASKS + 2)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"network namespaces are not allowed here: {error}")
    yield made
    made.close()


@pytest.fixture
def start() -> Iterator[Callable[[Islands | None], IslandStarter]]:
    """Installs an executor."""
    before, starters = JobLauncher.current(), []

    def started(islands: Islands | None) -> IslandStarter:
        starter = IslandStarter(islands)
        starters.append(starter)
        settings = ResidentSettings(barrier_interval=20, heartbeat_timeout=1.5)
        executor = lambda *_: ResidentExecutor(starter, TASKS, settings)  # noqa: E731
        JobLauncher.install(JobLauncher(executor=executor))
        return starter

    yield started
    JobLauncher.install(before)
    for starter in starters:
        for pid in [pid for crew in starter.crews for pid in crew.undead]:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


Start = Callable[[Islands | None], IslandStarter]


def test_a_connection_of_two_workers_that_swallows_everything(
    islands: Islands, start: Start, tmp_path: Path
) -> None:
    """Both live and hear the driver: they are connected anew, and none is replaced."""
    starter, cut, times = start(islands), [], []

    def part(details: JobDetails) -> None:
        if not cut and details.epochs == 3:
            islands.part(True)
            cut.append(Timer(2 * LINK_TIMEOUT, islands.part, [False]))
            cut[0].start()
        times.append(time.monotonic())

    check_counts(part, lambda: bool(cut) and not cut[0].is_alive(), tmp_path)
    cut[0].join()
    assert max(after - before for before, after in pairwise(times)) > LINK_TIMEOUT
    assert not starter.running.undead


def test_a_host_that_vanishes_and_comes_back(
    islands: Islands, start: Start, tmp_path: Path
) -> None:
    starter, epochs, back = start(islands), [], []

    def cut(details: JobDetails) -> None:
        epochs.append(details.epochs)
        if len(epochs) == 3:
            islands.connect(1, False)
        if starter.running.undead and not back:
            back.append(details.epochs)
            islands.connect(1, True)

    check_counts(cut, lambda: bool(back), tmp_path, AWAKE)
    assert back


def test_a_frozen_worker_that_wakes_beside_its_successor(start: Start, tmp_path: Path) -> None:
    starter, frozen, woken = start(None), [], []

    def freeze(details: JobDetails) -> None:
        if not frozen and details.epochs == 3:
            frozen.append(starter.running.processes[1][1].pid)
            os.kill(frozen[0], signal.SIGSTOP)
        if starter.running.undead and not woken:
            woken.append(details.epochs)
            os.kill(frozen[0], signal.SIGCONT)

    check_counts(freeze, lambda: bool(woken), tmp_path, AWAKE)
    assert woken
    assert starter.running.undead == frozen
