"""`ExecutionTarget`: the executor of a job, and the reason for this choice."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace

from millrace.common.config import flink_options, options
from millrace.common.config.configuration import Configuration
from millrace.common.errors import JobDefinitionError
from millrace.engine.executor import Executor
from millrace.engine.executor_choice import ExecutorChoice, ExecutorKind, epochs_are_needed
from millrace.engine.job_observer import JobObserver
from millrace.engine.resident.tasks import ResidentSettings
from millrace.job_graph.job_graph import JobGraph
from millrace.runtime.resident.patience import SATURATED_TIMEOUT

log = logging.getLogger(__name__)

AUTO = "auto"
DEFAULT_INTERVAL = 1_000
"""Milliseconds between checkpoints when none is configured."""
LEAST_BARRIER_INTERVAL = 10
"""Milliseconds between barriers of resident tasks if every epoch ends with a checkpoint."""
SPARE_SLOTS = 2
"""Slots of a local application beyond those that resident tasks hold, for Spark's own jobs."""
_ONLY_ON_EPOCHS = (
    options.EPOCH_INITIAL_RECORDS,
    options.EPOCH_MAX_RECORDS,
    options.EPOCH_TARGET_DURATION,
    options.EPOCH_MIN_INTERVAL,
    options.EPOCH_KEEP_WARM,
)
_ONLY_ON_RESIDENT_TASKS = (
    options.RESIDENT_BARRIER_INTERVAL,
    options.RESIDENT_HEARTBEAT_TIMEOUT,
)


@dataclass(frozen=True)
class ExecutionTarget:
    """The executor of a job."""

    executor: Executor
    choice: ExecutorChoice
    observers: tuple[JobObserver, ...] = ()
    spark_ui: str = ""
    """URL of Spark's own web UI; empty if there is none."""


def local_target(executor: Executor) -> ExecutionTarget:
    """The execution target of a job that this process runs, without Spark."""
    kind = ExecutorKind.RESIDENT if executor.keeps_epochs_open else ExecutorKind.EPOCHS
    return ExecutionTarget(
        executor, ExecutorChoice(kind, "the program runs in one process, without Spark")
    )


def spark_target(
    graph: JobGraph, configuration: Configuration, name: str, width: int
) -> ExecutionTarget:
    """Execution target of a job on this process's Spark application, which is created if necessary.

    Args:
        width: highest parallelism.

    Raises:
        JobDefinitionError: the user has chosen resident tasks, which cannot run this job.
        JobExecutionError: the user has chosen them, and there are too few slots.
    """
    from millrace.spark.job_application import job_application

    choice = choice_without_slots(graph, configuration)
    suits = choice is None or choice.kind is ExecutorKind.RESIDENT
    application = job_application(configuration, name, width, SPARE_SLOTS if suits else 0)
    spark_sink = next((s.name for s in graph.sinks if s.sink.runs_spark_jobs), None)
    holder = application.holder(choice, width, spark_sink)
    warn_of_idle_options(configuration, holder.choice.kind)
    settings = resident_settings(configuration)
    if spark_sink is not None:
        settings = replace(settings, spare_slots=1)
    executor = application.executor(holder.choice.kind, settings)
    return ExecutionTarget(executor, holder.choice, (holder,), application.ui)


def choice_without_slots(graph: JobGraph, configuration: Configuration) -> ExecutorChoice | None:
    """The executor of a job; None if the choice depends on the slots of the Spark application.

    Raises:
        JobDefinitionError: the user has chosen resident tasks, which cannot run this job.
    """
    wanted = configuration.get(options.EXECUTOR)
    if wanted == ExecutorKind.RESIDENT:
        require_fit_for_resident_tasks(graph)
    if wanted != AUTO:
        return ExecutorChoice(ExecutorKind(wanted), f"{options.EXECUTOR.key} is {wanted}")
    reason = epochs_are_needed(graph) or _setting_of_epochs(configuration)
    return None if reason is None else ExecutorChoice(ExecutorKind.EPOCHS, reason)


def _setting_of_epochs(configuration: Configuration) -> str | None:
    """The reason for epochs that a setting is, which would have no effect on resident tasks."""
    for option in _ONLY_ON_EPOCHS:
        if configuration.contains_key(option.key):
            return f"{option.key} is set, which has an effect only on epochs"
    return None


def explained_choice(graph: JobGraph, configuration: Configuration) -> str:
    """The executor that a job would get, and why; nothing is started."""
    choice = choice_without_slots(graph, configuration)
    if choice is not None:
        return str(choice)
    return "resident, if the Spark application has slots for two thirds of its tasks; else epochs"


def warn_of_idle_options(configuration: Configuration, kind: ExecutorKind) -> None:
    """Log a warning about options that are set but have no effect on the chosen executor."""
    is_resident = kind is ExecutorKind.RESIDENT
    idle = _ONLY_ON_EPOCHS if is_resident else _ONLY_ON_RESIDENT_TASKS
    keys = [option.key for option in idle if configuration.contains_key(option.key)]
    if keys:
        have = "has" if len(keys) == 1 else "have"
        log.warning(
            "%s %s no effect: the job runs on %s (%s)",
            ", ".join(keys),
            have,
            "resident tasks" if is_resident else "epochs",
            options.EXECUTOR.key,
        )


def resident_settings(configuration: Configuration) -> ResidentSettings:
    """Settings of resident tasks."""
    interval = configuration.get(options.RESIDENT_BARRIER_INTERVAL)
    checkpoints = configuration.get(options.CHECKPOINTING_INTERVAL)
    if interval is None:
        wanted = DEFAULT_INTERVAL if checkpoints is None else checkpoints.to_millis()
        milliseconds = min(max(wanted, LEAST_BARRIER_INTERVAL), DEFAULT_INTERVAL)
    else:
        milliseconds = interval.to_millis()
    is_timed = configuration.get(flink_options.BUFFER_TIMEOUT_ENABLED)
    timeout = configuration.get(flink_options.BUFFER_TIMEOUT).to_millis() / 1000
    is_chosen = configuration.contains_key(flink_options.BUFFER_TIMEOUT.key)
    return ResidentSettings(
        barrier_interval=milliseconds,
        buffer_timeout=timeout if is_timed else None,
        saturated_timeout=timeout if is_chosen else SATURATED_TIMEOUT,
        heartbeat_timeout=configuration.get(options.RESIDENT_HEARTBEAT_TIMEOUT).to_millis() / 1000,
        spare_slots=1 if configuration.get(options.EXECUTOR) == AUTO else 0,
    )


def require_fit_for_resident_tasks(graph: JobGraph) -> None:
    """Raise JobDefinitionError if resident tasks cannot run a graph."""
    use_epochs = f"use {options.EXECUTOR.key}: epochs"
    if graph.program.batch_mode:
        raise JobDefinitionError(
            f"{options.EXECUTOR.key} is 'resident', but the job runs in BATCH mode, whose input is "
            f"one epoch: {use_epochs}, or runtime mode STREAMING"
        )
    for node in graph.sources:
        if node.source.is_delivered:
            raise JobDefinitionError(
                f"{options.EXECUTOR.key} is 'resident', but Spark jobs read source '{node.name}', "
                f"a DataFrame, while resident tasks hold the slots: {use_epochs}"
            )
