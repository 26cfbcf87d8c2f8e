"""`JobApplication`: the Spark application of a job, with the job's dependencies."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark import SparkContext

from millrace.common.config import options
from millrace.common.config.configuration import Configuration
from millrace.engine.executor import Executor
from millrace.engine.executor_choice import ExecutorChoice, ExecutorKind
from millrace.engine.resident.tasks import ResidentSettings
from millrace.spark.application import submission_to
from millrace.spark.dependencies import Dependencies
from millrace.spark.executor import SparkExecutor
from millrace.spark.resident.executor import resident_executor, task_count
from millrace.spark.session import (
    RESIDENT_TASK_FAILURES,
    SHARED_TASK_FAILURES,
    TASK_FAILURES,
    active_context,
    create_context,
)
from millrace.spark.slot_holders import SlotHolder, chosen_holder, note_holder
from millrace.spark.worker_environment import WorkerEnvironment

__all__ = ["JobApplication", "job_application", "task_failures"]


@dataclass(frozen=True)
class JobApplication:
    """A Spark application, as one job uses it."""

    context: SparkContext
    environment: WorkerEnvironment
    tasks: int | None
    """Largest number of tasks; None for the number of the application's cores."""

    @property
    def ui(self) -> str:
        """URL of Spark's own web UI; empty if the application has none."""
        with submission_to(self.context):
            return self.context.uiWebUrl or ""

    def holder(
        self, choice: ExecutorChoice | None, width: int, spark_sink: str | None = None
    ) -> SlotHolder:
        """Record that the job uses slots of the application.

        Args:
            choice: the executor of the job; None if it depends on the free slots.
            width: highest parallelism.
            spark_sink: name of a sink that runs Spark jobs; None if there is none.

        Raises:
            JobExecutionError: there are too few slots for resident tasks.
        """
        with submission_to(self.context):
            if choice is not None and choice.kind is ExecutorKind.EPOCHS:
                return note_holder(self.context, choice)
            spare = 0 if spark_sink is None else 1
            tasks = task_count(self.context, self.tasks, self.environment, width, spare)
            return chosen_holder(self.context, tasks, choice, spark_sink)

    def executor(self, kind: ExecutorKind, settings: ResidentSettings) -> Executor:
        """An executor in the application.

        Args:
            settings: settings of resident tasks.
        """
        with submission_to(self.context):
            if kind is ExecutorKind.EPOCHS:
                return SparkExecutor(self.context, self.tasks, self.environment)
            return resident_executor(self.context, self.tasks, self.environment, settings)


def job_application(
    configuration: Configuration, name: str, parallelism: int, spare: int
) -> JobApplication:
    """This process's Spark application, which is created if necessary.

    Args:
        spare: number of slots beyond those of a new local application's tasks.
    """
    dependencies = Dependencies.of(configuration)
    settings = configuration.to_dict()
    extra = {key: value for key, value in settings.items() if key.startswith("spark.")}
    context = active_context()
    if context is None:
        extra = dependencies.add_to(extra)
        failures = task_failures(configuration, spare)
        context = create_context(name, parallelism, extra=extra, spare=spare, failures=failures)
        dependencies.add_to_class_loader(context)
    else:
        with submission_to(context):
            dependencies.require_jars(context)
    with submission_to(context):
        environment = dependencies.ship(context)
    return JobApplication(context, environment, configuration.get(options.SPARK_TASKS))


def task_failures(configuration: Configuration, spare: int) -> int:
    """Number of failures of one task that end a Spark job, for a new local application.

    Args:
        spare: number of slots beyond those of the tasks; 0 if no job needs resident tasks.
    """
    if configuration.get(options.EXECUTOR) == ExecutorKind.RESIDENT:
        return RESIDENT_TASK_FAILURES
    return SHARED_TASK_FAILURES if spare else TASK_FAILURES
