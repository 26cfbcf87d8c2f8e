"""Jobs of this process's Spark application, and the slots that they leave free."""

from __future__ import annotations

from threading import RLock
from weakref import WeakSet

from pyspark import SparkContext

from millrace.common.errors import JobExecutionError
from millrace.common.job import JobStatus
from millrace.engine.executor_choice import (
    ExecutorChoice,
    ExecutorKind,
    SlotCount,
    choose_executor,
    tasks_beside_other_work,
)
from millrace.engine.job_observer import JobObserver
from millrace.spark.resident.free_slots import (
    DYNAMIC_ALLOCATION,
    all_slots,
    busy_slots,
    is_dynamic,
    too_few_slots,
)

__all__ = ["SlotHolder", "chosen_holder", "note_holder", "slot_count"]

_holders: WeakSet[SlotHolder] = WeakSet()
"""Jobs that have not ended. A job that is never started vanishes with its client."""
_lock = RLock()


class SlotHolder(JobObserver):
    """One job that uses slots of an application.

    Args:
        context: the application's SparkContext.
        choice: the executor of the job.
        tasks: number of its resident tasks, which hold one slot each; 0 for a job on epochs.
    """

    def __init__(self, context: SparkContext, choice: ExecutorChoice, tasks: int) -> None:
        self.application = str(context.applicationId)
        self.choice = choice
        self.tasks = tasks if choice.kind is ExecutorKind.RESIDENT else 0
        self.has_started = False

    def started(self, job_dir: str) -> None:
        self.has_started = True

    def ended(self, status: JobStatus, error: BaseException | None) -> None:
        self._forget()

    def closed(self) -> None:
        self._forget()

    def _forget(self) -> None:
        with _lock:
            _holders.discard(self)


def note_holder(context: SparkContext, choice: ExecutorChoice, tasks: int = 0) -> SlotHolder:
    """Record the slots of a job whose executor is chosen.

    Args:
        tasks: number of resident tasks.
    """
    with _lock:
        holder = SlotHolder(context, choice, tasks)
        _holders.add(holder)
    return holder


def chosen_holder(
    context: SparkContext,
    tasks: int,
    choice: ExecutorChoice | None = None,
    spark_sink: str | None = None,
) -> SlotHolder:
    """Record the slots of a job for which resident tasks are suitable, and choose its executor.

    Args:
        tasks: number of resident tasks.
        choice: the user's choice; None if it depends on the slots.
        spark_sink: name of a sink that runs Spark jobs; None if there is none.

    Raises:
        JobExecutionError: the user has chosen resident tasks, and there are too few slots.
    """
    if is_dynamic(context):
        choice = choice or ExecutorChoice(
            ExecutorKind.EPOCHS, f"{DYNAMIC_ALLOCATION} changes the slots"
        )
    with _lock:  # two jobs that start at the same time do not both count the same slots as free
        if choice is None:
            slots = slot_count(context)
            choice = choose_executor(tasks, slots)
            tasks = tasks_beside_other_work(tasks, slots)
        if choice.kind is ExecutorKind.RESIDENT:
            _require_slots(context, tasks, spark_sink)
        return note_holder(context, choice, tasks)


def _require_slots(context: SparkContext, tasks: int, spark_sink: str | None) -> None:
    """Raise a JobExecutionError if the slots that the application's jobs have left are too few.
    Those of other tasks are counted when the job starts: they may be short."""
    slots = all_slots(context)
    taken = sum(holder.tasks for holder in _holders_of(context))
    if slots - taken < tasks:
        raise JobExecutionError(too_few_slots(tasks, slots, taken))
    if spark_sink is not None and slots - taken == tasks:
        raise JobExecutionError(
            f"the sink '{spark_sink}' runs Spark jobs, and the resident tasks of the job would "
            f"hold the last of the application's {slots} slots, so they would never run. Give the "
            f"application more cores (--master local[{slots + 1}], spark.cores.max, "
            "spark.executor.instances), lower millrace.spark.tasks, or run the job with "
            "millrace.executor: epochs"
        )


def slot_count(context: SparkContext) -> SlotCount:
    """The number of free slots of an application, and of its jobs that run on epochs."""
    slots, holders = all_slots(context), _holders_of(context)
    # tasks of a job that restarts do not run for a moment, and those of a new job not yet
    held = sum(holder.tasks for holder in holders if holder.has_started)
    promised = sum(holder.tasks for holder in holders if not holder.has_started)
    epoch_jobs = sum(holder.choice.kind is ExecutorKind.EPOCHS for holder in holders)
    free = slots - promised - max(held, busy_slots(context))
    return SlotCount(slots, max(free, 0), epoch_jobs)


def _holders_of(context: SparkContext) -> list[SlotHolder]:
    application = str(context.applicationId)
    with _lock:
        return [holder for holder in _holders if holder.application == application]
