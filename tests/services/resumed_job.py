"""How the jobs run that tests kill: they resume what they find."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from typing import Any

from wall_clock import WallClock

from millrace.common import Configuration
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.job_launcher import JobLauncher
from millrace.engine.executor import Executor
from millrace.engine.resident.tasks import ResidentSettings
from millrace.runtime.resident import resident_worker
from millrace.runtime.resident.resident_subtask import ResidentSubtask
from millrace.testing import run_local
from millrace.testing.resident_tasks import local_resident_executor

EXECUTOR = "KILLED_JOB_EXECUTOR"
"""Environment variable with the executor of a job that runs without Spark."""
SMALL_EPOCHS = {
    "millrace.epoch.initial-records-per-split": "40",
    "millrace.epoch.max-records-per-split": "40",
}
BARRIERS_MS = 10
"""Milliseconds between two barriers of resident tasks."""
PAUSE_S = 0.002
BATCH = 20
"""Records that a source reads on resident tasks between two pauses."""


class PacedSubtask(ResidentSubtask):
    """Reads one batch, and pauses: epochs of resident tasks end by the clock, and without pauses a
    job would be over after a few."""

    def turn(self, until: float) -> None:
        super().turn(0.0 if self.is_source else until)
        if self.is_source:
            time.sleep(PAUSE_S)


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
        where: "local", in this process, on the executor that its test has chosen, or "spark".
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
        JobLauncher.install(JobLauncher(resume=True))
        context = nullcontext()
    with context:
        env = StreamExecutionEnvironment.get_execution_environment(configuration)
        env.set_parallelism(parallelism)
        build(env)
        env.execute(name)
