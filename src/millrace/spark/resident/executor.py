"""Executor of resident tasks on Spark."""

from __future__ import annotations

from pyspark import SparkContext

from millrace.engine.resident.resident_executor import ResidentExecutor
from millrace.engine.resident.tasks import ResidentSettings
from millrace.spark.resident.spark_starter import SparkStarter
from millrace.spark.worker_environment import WorkerEnvironment

__all__ = ["heartbeat_seconds", "link_timeout_seconds", "resident_executor", "task_count"]

_LINK_TIMEOUT = 20.0
"""Seconds without an answer after which a connection between hosts is broken at the latest."""
_BEATS = 5
"""Heartbeats within the time after which a silent worker counts as lost."""


def resident_executor(
    context: SparkContext,
    tasks: int | None,
    environment: WorkerEnvironment,
    settings: ResidentSettings,
) -> ResidentExecutor:
    """Executor of resident tasks in a Spark application.

    Args:
        tasks: largest number of tasks; None for the number of cores, which may change.
    """
    timeout = settings.heartbeat_timeout
    starter = SparkStarter(
        context, environment, heartbeat_seconds(timeout), link_timeout_seconds(timeout)
    )
    return ResidentExecutor(starter, tasks, settings)


def heartbeat_seconds(timeout: float) -> float:
    """Seconds between two heartbeats of a worker that counts as lost after ``timeout`` seconds."""
    return min(1.0, timeout / _BEATS)


def link_timeout_seconds(timeout: float) -> float:
    """Seconds without an answer after which a connection between hosts is broken, if a worker
    counts as lost after ``timeout`` seconds."""
    return min(_LINK_TIMEOUT, timeout)


def task_count(
    context: SparkContext,
    tasks: int | None,
    environment: WorkerEnvironment,
    width: int,
    spare: int = 0,
) -> int:
    """Number of resident tasks of a job. Waits for executors that are about to register.

    Args:
        tasks: largest number of tasks; None for the number of cores.
        width: highest parallelism.
        spare: slots that must stay free, unless there are none beside those of ``tasks``.
    """
    cores = SparkStarter(context, environment).cores(spare)
    return min(tasks or cores, width)
