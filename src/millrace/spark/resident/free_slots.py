"""Check that a Spark application has a free slot for each resident task.

Spark itself waits for slots that other jobs hold, for minutes and without a word.
"""

from __future__ import annotations

import time

from pyspark import SparkContext

from millrace.common.errors import JobExecutionError
from millrace.engine.resident.tasks import WhileWanted, always
from millrace.spark.application import running_application

__all__ = [
    "DYNAMIC_ALLOCATION",
    "all_slots",
    "busy_slots",
    "free_slots",
    "is_dynamic",
    "require_free_slots",
    "too_few_slots",
]

DYNAMIC_ALLOCATION = "spark.dynamicAllocation.enabled"


def is_dynamic(context: SparkContext) -> bool:
    """Whether Spark changes the number of slots while the application runs."""
    return str(context.getConf().get(DYNAMIC_ALLOCATION, "false")).lower() == "true"


def require_free_slots(
    context: SparkContext, tasks: int, patience: float = 0.0, may_wait: WhileWanted = always
) -> None:
    """Check that ``tasks`` slots are free within ``patience`` seconds, or now if it may not wait.

    Raises:
        JobExecutionError: there are fewer. The message names the ways out.
    """
    until = time.monotonic() + patience
    while True:
        slots = all_slots(context)
        busy = busy_slots(context)
        free = slots - busy
        if free >= tasks:
            return
        if time.monotonic() >= until or not may_wait():
            break
        time.sleep(0.1)
    raise JobExecutionError(too_few_slots(tasks, slots, busy))


def too_few_slots(tasks: int, slots: int, busy: int) -> str:
    """Message of a job that needs more slots for its tasks than are free, with possible remedies.

    Args:
        busy: slots that other tasks hold.
    """
    holders = f", {busy} of them busy" if busy else ""
    return (
        f"the job needs {tasks} slots for its resident tasks, and the Spark application has "
        f"{slots}{holders}: {max(slots - busy, 0)} free. Give the application more cores (--master "
        f"local[{tasks + busy}], spark.cores.max, spark.executor.instances), lower the job's "
        "parallelism or millrace.spark.tasks, end the other jobs of the application, or run the "
        "job with millrace.executor: epochs"
    )


def free_slots(context: SparkContext) -> int:
    """Number of slots that no task holds."""
    return max(0, all_slots(context) - busy_slots(context))


def all_slots(context: SparkContext) -> int:
    """Number of slots of the application."""
    application = running_application(context)
    profile = application.resourceProfileManager().defaultResourceProfile()
    return int(application.maxNumConcurrentTasks(profile))


def busy_slots(context: SparkContext) -> int:
    """Number of slots that running tasks hold."""
    # not from the status tracker, which is seconds behind
    counts = running_application(context).taskScheduler().runningTasksByExecutors().valuesIterator()
    busy = 0
    while counts.hasNext():
        busy += int(counts.next())
    return busy
