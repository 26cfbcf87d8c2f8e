"""`ExecutorChoice`: the executor on which a job runs, and why."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from millrace.job_graph.job_graph import JobGraph

__all__ = [
    "ExecutorChoice",
    "ExecutorKind",
    "SlotCount",
    "choose_executor",
    "epochs_are_needed",
    "tasks_beside_other_work",
]


class ExecutorKind(StrEnum):
    """An executor, as in the option ``millrace.executor``."""

    EPOCHS = "epochs"
    RESIDENT = "resident"


@dataclass(frozen=True, slots=True)
class ExecutorChoice:
    """The chosen executor, and the reason for the choice as text for people."""

    kind: ExecutorKind
    reason: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.reason}"


@dataclass(frozen=True, slots=True)
class SlotCount:
    """Slots of a Spark application, as one job finds them."""

    slots: int
    free: int
    """Slots that neither run a task nor are held by resident tasks."""
    epoch_jobs: int = 0
    """Number of other jobs of the application that run on epochs."""


def epochs_are_needed(graph: JobGraph) -> str | None:
    """The reason why only epochs suit a job, independent of the number of slots; None if there is
    no such reason.
    """
    if graph.program.batch_mode:
        return "the job runs in batch mode"
    if graph.program.available_now:  # resident tasks are for jobs that stay
        return "the run reads what is there and ends"
    for source in graph.sources:
        if source.source.is_delivered:
            return f"Spark jobs read source '{source.name}', a DataFrame"
    for sink in graph.sinks:
        if sink.sink.runs_spark_jobs:
            return f"the sink '{sink.name}' runs Spark jobs"
    return None


def choose_executor(tasks: int, slots: SlotCount) -> ExecutorChoice:
    """Choose the executor of a streaming job for which resident tasks are suitable.

    Args:
        tasks: number of resident tasks if there are slots enough. Two thirds of them will do, as
            a task runs several subtasks; with fewer, too many cores would stand idle.
        slots: the application's slots. One of them stays free for Spark's own work and for jobs
            on epochs, which would otherwise wait until this job ends.
    """
    if slots.epoch_jobs:
        one = slots.epoch_jobs == 1
        others = "another job runs" if one else f"{slots.epoch_jobs} other jobs run"
        reason = f"{others} on epochs in this Spark application and {'needs' if one else 'need'} "
        return ExecutorChoice(ExecutorKind.EPOCHS, f"{reason}its slots")
    least = (2 * tasks + 2) // 3 + 1
    if slots.free < least:
        reason = (
            f"resident tasks need {_number(least, 'free slot')}, one of them for other work "
            f"of Spark, and the Spark application has {slots.free} of {slots.slots}"
        )
        return ExecutorChoice(ExecutorKind.EPOCHS, reason)
    fitting = tasks_beside_other_work(tasks, slots)
    reason = f"a streaming job, and {slots.free} slots are free for {_number(fitting, 'task')}"
    if fitting < tasks:
        reason = f"{reason} and for other work of Spark; with more slots it has {tasks} tasks"
    return ExecutorChoice(ExecutorKind.RESIDENT, reason)


def tasks_beside_other_work(tasks: int, slots: SlotCount) -> int:
    """Number of resident tasks, of at most ``tasks``, that leave a slot free."""
    return max(1, min(tasks, slots.free - 1))


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
