"""Number of cores of a Spark application. Executors may register late, and may be added while a job
runs.
"""

from __future__ import annotations

import time

from pyspark import SparkContext

from millrace.engine.resident.tasks import WhileWanted, always
from millrace.spark.application import running_application

PATIENCE = 15.0
"""Seconds to wait for the first executors."""
SETTLED = 2.0
"""Seconds without a new executor after which the registered ones count as all."""
GROWN_AFTER = 5
"""Consecutive epochs with more cores before a job spreads over them, because a spread moves
state."""


def in_driver(context: SparkContext) -> bool:
    """Whether all tasks run in the driver's own process."""
    master = str(context.master)
    return master == "local" or master.startswith("local[")


class ClusterCores:
    """Observes the number of cores of all executors."""

    def __init__(self, context: SparkContext) -> None:
        self._application = running_application(context)
        self._profile = self._application.resourceProfileManager().defaultResourceProfile()
        self._local = in_driver(context)
        self.count = self._now()
        """Number of cores to plan with, which is the number of tasks that run at the same time."""
        self._seen_more = 0
        self.promised = _promised(context)
        """Number of tasks that the requested cores can run at a time; infinite if the application
        takes all cores."""

    def _now(self) -> int:
        # not the default parallelism, which a setting makes any number
        return max(1, int(self._application.maxNumConcurrentTasks(self._profile)))

    def wait_until_known(self, may_wait: WhileWanted = always) -> None:
        """Wait until the executors of a cluster have registered, or for a limited time, and set
        `count`. If it may not wait, `count` is the number at present."""
        deadline = time.monotonic() + PATIENCE
        before, since = -1, time.monotonic()
        while not self._local and may_wait() and time.monotonic() < deadline:
            executors = self._executors()
            if executors != before:
                before, since = executors, time.monotonic()
            if self._now() >= self.promised:
                break
            if executors and time.monotonic() - since > SETTLED:
                break
            time.sleep(0.05)
        self.count = self._now()

    def _executors(self) -> int:
        """Number of registered executors; the driver is in Spark's list, too."""
        return int(self._application.getExecutorMemoryStatus().size()) - 1

    def have_grown(self) -> bool:
        """Whether the number of cores has been higher for some epochs; `count` is then the new
        number."""
        if self._local:
            return False
        now = self._now()
        self._seen_more = self._seen_more + 1 if now > self.count else 0
        if self._seen_more < GROWN_AFTER:
            return False
        self.count, self._seen_more = now, 0
        return True


def _promised(context: SparkContext) -> float:
    """Number of tasks that the requested cores can run at a time; infinite if the application
    takes all cores."""
    conf = context.getConf()
    instances = conf.get("spark.executor.instances")
    per_executor = int(conf.get("spark.executor.cores") or 1)
    asked = conf.get("spark.cores.max") or (instances and int(instances) * per_executor)
    return float(asked or "inf") / int(conf.get("spark.task.cpus") or 1)
