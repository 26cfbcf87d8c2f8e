"""Jobs of this process's Spark application, and the slots that they leave free."""

from __future__ import annotations

from threading import RLock
from weakref import WeakSet

from pyspark import SparkContext

from millrace.common.job import JobStatus
from millrace.engine.executor_choice import (
    ExecutorChoice,
    ExecutorKind,
    SlotCount,
    choose_executor,
)
from millrace.engine.job_observer import JobObserver
from millrace.spark.resident.free_slots import all_slots, busy_slots

__all__ = ["SlotHolder", "chosen_holder", "note_holder", "slot_count"]

_holders: WeakSet[SlotHolder] = WeakSet()
"""Jobs that have not ended. A job that is never started vanishes with its client."""
_DYNAMIC = "spark.dynamicAllocation.enabled"
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
    """Note the slots of a job whose executor is chosen.

    Args:
        tasks: number of resident tasks.
    """
    with _lock:
        holder = SlotHolder(context, choice, tasks)
        _holders.add(holder)
    return holder


def chosen_holder(
    context: SparkContext, tasks: int, choice: ExecutorChoice | None = None
) -> SlotHolder:
    """Note the slots of a job for which resident tasks are suitable.

    Args:
        tasks: number of resident tasks.
        choice: the user's choice; None if it depends on the slots.
    """
    if context.getConf().get(_DYNAMIC, "false") == "true":
        choice = choice or ExecutorChoice(ExecutorKind.EPOCHS, f"{_DYNAMIC} changes the slots")
    with _lock:  # two jobs that start at the same time do not both count the same slots as free
        choice = choice or choose_executor(tasks, slot_count(context))
        return note_holder(context, choice, tasks)


def slot_count(context: SparkContext) -> SlotCount:
    """The free slots of an application, and its jobs on epochs."""
    application, slots = str(context.applicationId), all_slots(context)
    with _lock:
        holders = [holder for holder in _holders if holder.application == application]
    # tasks of a job that restarts do not run for a moment, and those of a new job not yet
    held = sum(holder.tasks for holder in holders if holder.has_started)
    promised = sum(holder.tasks for holder in holders if not holder.has_started)
    epoch_jobs = sum(holder.choice.kind is ExecutorKind.EPOCHS for holder in holders)
    free = slots - promised - max(held, busy_slots(context))
    return SlotCount(slots, max(free, 0), epoch_jobs)
