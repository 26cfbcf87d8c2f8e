"""Drivers without Spark in this process, all for the job in one directory."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import fault_pipeline as pipeline
from fault_cluster import FaultyCluster

from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.job_launcher import JobLauncher
from millrace.engine.embedded_job_client import EmbeddedJobClient
from millrace.engine.executor import Executor
from millrace.engine.job_identity import job_id_of
from millrace.engine.resident.tasks import ResidentSettings
from millrace.testing.resident_tasks import local_resident_executor


def job_dir(directory: str | Path) -> str:
    """Where the job in ``directory`` has its checkpoints."""
    return os.path.join(directory, "checkpoints", job_id_of(pipeline.JOB_NAME))


def resident_tasks() -> Executor:
    """Resident tasks in threads, with barriers as often as there are small epochs."""
    return local_resident_executor(2, ResidentSettings(barrier_interval=2))


EXECUTORS = {"epochs": FaultyCluster, "resident": resident_tasks}


def driver(
    directory: str | Path,
    count: int,
    cluster: Executor | None = None,
    settings: dict[str, Any] | None = None,
    **sizes: int,
) -> EmbeddedJobClient:
    """A driver, not yet started, that goes on from what it will find."""
    JobLauncher.install(JobLauncher(resume=True, executor=lambda *_: cluster or FaultyCluster()))
    configuration = pipeline.small_epochs(f"{directory}/checkpoints", **sizes)
    for key, value in (settings or {}).items():
        configuration.set_string(key, value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(2)
    pipeline.build(env, f"{directory}/out", count, 3)
    return env.build_client(pipeline.JOB_NAME)


def run_driver(directory: Path, count: int, **arguments: Any) -> EmbeddedJobClient:
    """A driver that has run to its end; raises what made it fail."""
    client = driver(directory, count, **arguments)
    client.run()
    client.result()
    return client
