"""How the jobs run that tests kill: they resume what they find."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from typing import Any

from wall_clock import WallClock

from millrace.common import Configuration
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.job_launcher import JobLauncher
from millrace.engine.executor import Executor
from millrace.engine.resident.tasks import ResidentSettings
from millrace.engine.sink_commits import MOST_BEHIND
from millrace.runtime.resident import resident_worker
from millrace.runtime.resident.resident_subtask import ResidentSubtask
from millrace.testing import run_local
from millrace.testing.resident_tasks import local_resident_executor

EXECUTOR = "KILLED_JOB_EXECUTOR"
"""Environment variable with the executor of the job."""
SMALL_EPOCHS = {
    "millrace.epoch.initial-records-per-split": "40",
    "millrace.epoch.max-records-per-split": "40",
}
BARRIERS_MS = 10
"""Milliseconds between two barriers of resident tasks."""
PAUSE_S = 0.002
BATCH = 20
"""Records that a source reads on resident tasks between two pauses."""
EPOCH = 5 * BATCH
"""Records after which a source on resident tasks waits for the end of the epoch. A batch
before that and one at the end of the epoch may go beyond."""


class PacedSubtask(ResidentSubtask):
    """Reads one batch, and pauses, and reads no more than some batches in an epoch. Epochs of
    resident tasks end by the clock: a job would be over after a few, the more so if a checkpoint
    or a transaction takes long."""

    def turn(self, until: float) -> None:
        if not self._has_read_enough:
            super().turn(0.0 if self.is_source else until)
        if self.is_source:
            time.sleep(PAUSE_S)

    @property
    def _has_read_enough(self) -> bool:
        """Whether the source waits for the end of the epoch."""
        reading = self._reading
        has_to_end = reading is None or reading.is_end_wanted
        return not has_to_end and self._records_read >= EPOCH  # counted from the last barrier


def lasting(traps: Iterable[str], parallelism: int = 2) -> int:
    """Records for which a job on resident tasks dies at all of its traps before its input ends,
    however long commits take: the driver goes on until so many of them wait as may wait."""
    epochs = sum(int(trap.rpartition(":")[2]) + MOST_BEHIND + 2 for trap in traps)
    return (epochs + 10) * parallelism * (EPOCH + 2 * BATCH)


def resident_tasks() -> Executor:
    """Resident tasks in threads of this process, whose sources are slow."""
    vars(resident_worker)["ResidentSubtask"] = PacedSubtask
    return local_resident_executor(2, ResidentSettings(barrier_interval=BARRIERS_MS))


def run_resumed(
    name: str,
    build: Callable[[StreamExecutionEnvironment], object],
    settings: Mapping[str, str],
    where: str = "local",
    parallelism: int = 2,
    **local: Any,
) -> None:
    """Run a job until its end.

    Args:
        where: "local", in this process, or "spark"; on the executor that the test has chosen.
        local: of `run_local`.
    """
    logging.basicConfig(level=logging.INFO)
    configuration = Configuration(dict(settings))
    if where == "local" and os.environ.get(EXECUTOR) == "resident":
        configuration.set_integer("millrace.buffer.records", BATCH)
        real = {"clock": WallClock(), "epoch_limit": 1_000_000, "executor": resident_tasks}
        context: Any = run_local(resume=True, **{**local, **real})
    elif where == "local":
        context = run_local(resume=True, **local)
    else:
        configuration.set_string("spark.master", "local[2,4]")
        if os.environ.get(EXECUTOR) == "resident":
            configuration.set_string("spark.master", "local[3,1000]")
            configuration.set_string("millrace.executor", "resident")
        JobLauncher.install(JobLauncher(resume=True))
        context = nullcontext()
    with context:
        env = StreamExecutionEnvironment.get_execution_environment(configuration)
        env.set_parallelism(parallelism)
        build(env)
        env.execute(name)
