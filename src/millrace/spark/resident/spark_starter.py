"""Starts resident tasks as one Spark job.

It is an ordinary job: if a task is lost, Spark runs that task again, and the others stay. A barrier
stage would end all of them (docs/decisions, "What survives a loss").
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from threading import Thread
from typing import Any

from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.errors import PySparkException

from millrace.common.errors import JobExecutionError
from millrace.engine.executor import ExecutorError
from millrace.engine.resident.tasks import WhileWanted, always
from millrace.runtime.program import Program
from millrace.spark.application import require_application, running_application
from millrace.spark.cluster_cores import ClusterCores, in_driver
from millrace.spark.executor import closed_runs, message_of, reason_of, without_java_frames
from millrace.spark.local_properties import LocalProperties
from millrace.spark.resident.free_slots import free_slots, require_free_slots
from millrace.spark.resident.resident_task import ResidentTask
from millrace.spark.slots import SLOT_VARIABLE, WRAPPING
from millrace.spark.worker_death import worker_death
from millrace.spark.worker_environment import WorkerEnvironment, variable_of_functions
from millrace.spark.worker_log_settings import worker_log
from millrace.spark.worker_start import start_failure

__all__ = ["SparkStarter"]

log = logging.getLogger(__name__)

SLOT_PATIENCE = 10.0
"""Seconds in which the slots of former tasks must become free."""
FIRST_SLOT_PATIENCE = 2.0
"""Seconds in which slots must become free for the first tasks of a job. The other jobs leave enough
slots (see `chosen_holder`), so what holds one may be short, such as a task of a cancelled job."""
LAST_WORDS = 1.0
"""Seconds to wait for the reason of a lost task."""
MOST_TASKS = 10_000
_DESCRIPTION = "spark.job.description"
_SLOT = "resident"
"""Value of the slot variable: idle workers of resident tasks serve no others."""


class SparkStarter:
    """Starts the resident tasks of one job in a Spark application.

    Args:
        context: the application's SparkContext.
        environment: environment in which workers find the job's dependencies.
        heartbeat: seconds between two heartbeats.
        link_timeout: seconds without an answer after which a connection between hosts is broken.
    """

    def __init__(
        self,
        context: SparkContext,
        environment: WorkerEnvironment,
        heartbeat: float = 1.0,
        link_timeout: float = 20.0,
    ) -> None:
        self._context = context
        self._environment = environment
        self._heartbeat = heartbeat
        self._link_timeout = link_timeout
        self._properties = LocalProperties(context)
        self._cores = ClusterCores(context)

    @property
    def host(self) -> str:
        """Address at which tasks reach the driver."""
        if in_driver(self._context):
            return "127.0.0.1"
        return str(self._context.getConf().get("spark.driver.host") or "127.0.0.1")

    @property
    def bind(self) -> str:
        """Address of this machine at which the driver listens. It is the address that Spark listens
        at, which in a container may differ from the address in the host's name.
        """
        if in_driver(self._context):
            return "127.0.0.1"
        return str(self._context.getConf().get("spark.driver.bindAddress") or self.host)

    @property
    def port(self) -> int:
        """0, so that the system chooses a port."""
        return 0

    def start(
        self,
        address: str,
        token: bytes,
        generation: int,
        tasks: int,
        may_wait: WhileWanted = always,
    ) -> SparkTasks:
        """Start the Spark job, in a thread.

        Raises:
            JobExecutionError: there are too few slots.
            ExecutorError: Spark does not run.
        """
        if may_wait():
            self._cores.wait_until_known(may_wait)
        try:
            # tasks of a generation before may still be ending
            patience = SLOT_PATIENCE if generation > 1 else FIRST_SLOT_PATIENCE
            require_free_slots(self._context, tasks, patience, may_wait)
            task = ResidentTask(
                address,
                token,
                generation,
                self._environment,
                on_one_host=self.host == "127.0.0.1",
                heartbeat=self._heartbeat,
                link_timeout=self._link_timeout,
            )
            return SparkTasks(self._context, self._job(task, tasks), self._properties, generation)
        except (Py4JError, PySparkException) as error:
            raise ExecutorError(f"Spark does not run: {reason_of(error)}") from error

    def _job(self, task: ResidentTask, tasks: int) -> Any:
        """The Spark job, as an RDD of the JVM without elements."""
        context = self._context
        rdd = context.parallelize(range(tasks), tasks).mapPartitions(task)
        with (
            WRAPPING,
            self._environment.of_functions(context),
            variable_of_functions(context, SLOT_VARIABLE, _SLOT),
        ):
            return rdd._jrdd  # wraps the function, with these variables

    def cores(self, spare: int = 0, may_wait: WhileWanted = always) -> int:
        """Number of cores that tasks can use, if ``spare`` slots of the application stay free."""
        try:
            self._cores.wait_until_known(may_wait)
            count = self._cores.count
        except (Py4JError, PySparkException) as error:
            raise ExecutorError(f"Spark does not run: {reason_of(error)}") from error
        count = max(count - spare, 1)
        return min(count, os.cpu_count() or 1) if in_driver(self._context) else count

    def free_slots(self) -> int:
        """Number of slots that no task holds."""
        try:
            return free_slots(self._context)
        except (Py4JError, PySparkException) as error:
            raise ExecutorError(f"Spark does not run: {reason_of(error)}") from error

    def adapted(self, program: Program) -> Program:
        """The program with the closed runs and the log settings of this application's workers."""
        log_settings = worker_log(program.log, str(self._context.master))
        return replace(program, closed_runs=tuple(closed_runs), log=log_settings)

    def forget(self, run_id: str) -> None:
        """Let workers forget a run, when they load their next program."""
        closed_runs.append(run_id)

    def require_running(self) -> None:
        """Raise an ApplicationLostError if the application has ended."""
        require_application(self._context)


class SparkTasks:
    """Running Spark job of one generation."""

    def __init__(
        self, context: SparkContext, job: Any, properties: LocalProperties, generation: int
    ) -> None:
        self._context = context
        # PySpark's context can give none any more once the program has stopped it
        self._tracker = context.statusTracker()
        self._job = job
        self._properties = properties
        self._name = f"millrace-resident-{id(self)}-{generation}"
        self._error: Exception | None = None
        self._hosts: dict[int, str] = {}
        """Executors of task attempts."""
        self._thread = Thread(target=self._run, name="millrace-resident", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._properties.apply(self._name)
            if self._context.getLocalProperty(_DESCRIPTION) is None:
                self._context.setLocalProperty(_DESCRIPTION, "millrace: resident tasks")
            self._job.rdd().count()  # not PySpark's count(), which wraps the function anew
        except (Py4JError, PySparkException, OSError, EOFError) as error:
            self._error = error

    def failure(self) -> str | None:
        """Spark's reason for the end of the tasks. None while they run.

        Raises:
            JobExecutionError: workers cannot start, however often it is tried.
        """
        if self._thread.is_alive():
            return None
        if self._error is None:
            return ""
        lasting = start_failure(message_of(self._error))
        if lasting is not None:
            raise JobExecutionError(lasting)
        death = worker_death(message_of(self._error))
        if death is not None:
            return f"a Python worker died: {death.reason}"
        return reason_of(self._error)

    def kill(self, attempt: int) -> None:
        """Kill a task attempt. Spark ends its process after ``spark.python.task.killTimeout``."""
        try:
            self._scala_context.killTaskAttempt(attempt, False, "it does not answer")
        except Py4JError as error:
            log.debug("cannot kill a resident task", exc_info=error)

    def reason(self, attempt: int) -> str:
        """Reason that Spark has noted for the end of a task attempt, such as the signal that ended
        its process. Spark may note the reason late, so this waits a while."""
        until = time.monotonic() + LAST_WORDS
        while time.monotonic() < until:
            message = self._message_of(attempt)
            if message:
                death = worker_death(f"Task 0 in stage 0.0 failed: {message}")
                if death is not None:
                    return death.reason
                log.debug("a resident task has ended: %s", message)
                lines = without_java_frames(message).splitlines()
                return lines[-1 if "Traceback (most recent call last)" in message else 0]
            time.sleep(0.02)
        return ""

    def _message_of(self, attempt: int) -> str:
        """Spark's message about a task attempt; empty if there is none yet."""
        try:
            for task in self._attempts():
                if task.taskId() == attempt and task.errorMessage().isDefined():
                    return str(task.errorMessage().get())
        except Py4JError as error:
            log.debug("Spark does not tell why a task has ended", exc_info=error)
        return ""

    def _attempts(self) -> Iterator[Any]:
        """Spark's data of all task attempts."""
        store = self._scala_context.statusStore()
        tracker = self._tracker
        group = self._properties.group or self._name
        jobs = map(tracker.getJobInfo, tracker.getJobIdsForGroup(group))
        stages = [stage for job in jobs if job is not None for stage in job.stageIds]
        for stage in stages:
            tasks = store.taskList(stage, 0, MOST_TASKS)
            yield from map(tasks.apply, range(tasks.size()))

    def leaving(self, attempts: Sequence[int]) -> Sequence[int]:
        """Task attempts, among ``attempts``, whose executors are being decommissioned. All others
        are assumed to stay.
        """
        if in_driver(self._context):
            return ()
        try:
            scheduler = self._scala_context.taskScheduler()
            if not self._hosts.keys() >= set(attempts):
                self._hosts.update((t.taskId(), t.executorId()) for t in self._attempts())
            known = {host for attempt in attempts if (host := self._hosts.get(attempt)) is not None}
            left = {h for h in known if scheduler.getExecutorDecommissionState(h).isDefined()}
        except Py4JError as error:
            log.debug("Spark does not tell which executors leave", exc_info=error)
            return ()
        return [attempt for attempt in attempts if self._hosts.get(attempt) in left]

    @property
    def _scala_context(self) -> Any:
        return running_application(self._context)

    def cancel(self) -> None:
        """Cancel the Spark job, which kills tasks that do not return."""
        try:
            running_application(self._context)
            self._properties.cancel(self._name)
        except Py4JError as error:
            log.debug("cannot cancel resident tasks", exc_info=error)

    def wait(self, seconds: float) -> bool:
        """Wait for the end of the Spark job."""
        self._thread.join(seconds)
        return not self._thread.is_alive()
