"""Drivers on Spark: `millrace run` in a process, to be killed from outside or at a crash point."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import psutil
from fault_lives import JOBS, environment
from fault_pipeline import small_epochs

from millrace.state.checkpoint.directory import complete_checkpoints

PAUSE_MS = 10
"""Milliseconds between two reads on resident tasks, so that the job has many epochs there, too."""
PATIENCE = 600.0
"""Seconds that a driver may take on a busy machine."""


class SparkDriver:
    """One driver of the job in ``directory``; resumes whatever it finds there.

    Args:
        executor: value of ``millrace.executor``.
        arguments: further arguments of the job. None for those of the fault pipeline.
    """

    def __init__(
        self,
        directory: Path,
        count: int,
        trap: str = "",
        master: str | None = None,
        settings: dict[str, str] | None = None,
        job: str = "fault_pipeline.py",
        executor: str = "epochs",
        arguments: Sequence[str] | None = None,
    ) -> None:
        self.directory = directory
        configuration = small_epochs(directory / "checkpoints", records=60).to_dict()
        pairs = {**configuration, "millrace.executor": executor, **(settings or {})}
        if arguments is None:
            arguments = ("2", "3", str(PAUSE_MS if executor == "resident" else 0))
        where = ["--master", master] if master else []
        self.process = subprocess.Popen(
            [
                *(sys.executable, "-m", "millrace.cli.main", "run", "--resume", *where),
                *("--parallelism", "2"),
                *(word for key, value in pairs.items() for word in ("--conf", f"{key}={value}")),
                *(str(JOBS / job), str(directory / "out"), str(count), *arguments),
            ],
            env=environment(MILLRACE_CRASH=trap, XDG_STATE_HOME=str(directory / "state")),
            stdout=subprocess.DEVNULL,
            stderr=(directory / "driver.log").open("ab"),
        )

    @property
    def log(self) -> str:
        return (self.directory / "driver.log").read_text()

    def wait(self) -> int:
        """The exit status, negative for a signal."""
        try:
            return self.process.wait(PATIENCE)
        finally:
            self.kill()

    def wait_for(self, happened: Callable[[], bool]) -> bool:
        """Whether it happened before the driver's end."""
        deadline = time.monotonic() + PATIENCE
        while self.process.poll() is None and time.monotonic() < deadline:
            if happened():
                return True
            time.sleep(0.005)
        return False

    def kill(self) -> None:
        """kill -9. What it started (JVM, workers) is left to notice by itself."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
        self.process.wait(30)

    def descendants(self) -> list[psutil.Process]:
        with suppress(psutil.NoSuchProcess):
            return psutil.Process(self.process.pid).children(recursive=True)
        return []

    # -- moments to wait for ---------------------------------------------------------------

    def job_dir(self) -> Path | None:
        found = list((self.directory / "checkpoints").glob("faults-*"))
        return found[0] if found else None

    def newest_checkpoint(self) -> int:
        directory = self.job_dir()
        return max(complete_checkpoints(directory), default=0) if directory else 0

    def segments(self) -> set[str]:
        directory = self.job_dir()
        names = os.listdir(directory / "shared") if directory else []
        return {name for name in names if not name.startswith(".") and ".deltas" not in name}

    def kill_after_a_segment(self) -> None:
        """As soon as a worker has written a segment that is not yet part of a checkpoint."""
        start = self.newest_checkpoint()
        self.wait_for(lambda: self.newest_checkpoint() > start)
        before = self.segments()
        self.wait_for(lambda: bool(self.segments() - before))
        self.kill()

    def kill_at_random(self, seed: int) -> None:
        """Some time after the next few checkpoints."""
        rng = random.Random(seed)
        goal = self.newest_checkpoint() + rng.randint(1, 4)
        self.wait_for(lambda: self.newest_checkpoint() >= goal)
        deadline = time.monotonic() + rng.random() * 0.3
        self.wait_for(lambda: time.monotonic() >= deadline)
        self.kill()


def reap(processes: list[psutil.Process], seconds: float = 60.0) -> list[psutil.Process]:
    """Wait until they have ended by themselves; those that have not are killed and returned."""
    # psutil's wait_procs fails if a process id has become a thread's
    until = time.monotonic() + seconds
    while (left := list(filter(is_alive, processes))) and time.monotonic() < until:
        time.sleep(0.1)
    for process in left:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    return left


def is_alive(process: psutil.Process) -> bool:
    """Whether a process runs; one that has ended may wait until its parent reaps it."""
    with suppress(psutil.NoSuchProcess):
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    return False


def python_workers(processes: list[psutil.Process]) -> list[psutil.Process]:
    """Python workers among the processes: forks of the daemon that Spark starts."""
    forks = []
    for process in processes:
        with suppress(psutil.Error):
            family = [process, *process.parents()[:1]]
            if all("pyspark.worker" in " ".join(one.cmdline()) for one in family):
                forks.append(process)
    return forks
