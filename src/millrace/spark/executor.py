"""Execution of epochs on Spark: one epoch is one Spark job, and a level of the job is a Spark
stage.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
from collections import deque
from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import replace
from threading import Thread
from typing import Any

from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.serializers import NoOpSerializer
from pyspark.util import _load_from_socket

from millrace.common.completable_future import CompletableFuture
from millrace.common.errors import JobExecutionError
from millrace.engine.executor import EpochHooks, ExecutorError
from millrace.runtime.epoch import Ack, EpochPlan, ack_of
from millrace.runtime.program import Program
from millrace.spark.anchors import Anchors
from millrace.spark.application import require_application
from millrace.spark.cluster_cores import ClusterCores
from millrace.spark.deliveries import Deliveries
from millrace.spark.local_properties import LocalProperties
from millrace.spark.shipped_plan import encode_plan
from millrace.spark.shuffle_cleaner import ShuffleCleaner
from millrace.spark.slots import JavaObject, SlottedStage, assign_slots, members
from millrace.spark.task import PLAN_PROPERTY, CloseEnded, LevelTask, WarmUp, unframed
from millrace.spark.worker_death import worker_death
from millrace.spark.worker_environment import WorkerEnvironment
from millrace.spark.worker_log_settings import worker_log
from millrace.spark.worker_start import start_failure
from millrace.state.serialization.pickles import dump_code

log = logging.getLogger(__name__)

closed_runs: deque[str] = deque(maxlen=256)
"""Runs of this process that have ended. Workers drop what they hold of them."""


class SparkExecutor:
    """Runs the epochs of one job in a Spark application.

    Args:
        context: the application's SparkContext.
        tasks: largest number of tasks of a level; None for the number of the application's cores.
        environment: environment in which workers find the job's dependencies.
    """

    keeps_epochs_open = False

    def __init__(
        self,
        context: SparkContext,
        tasks: int | None = None,
        environment: WorkerEnvironment | None = None,
    ) -> None:
        self._context = context
        self._properties = LocalProperties(context)
        self._environment = environment or WorkerEnvironment()
        self._deliveries = Deliveries(context, self._environment)
        self._jvm: Any = context._jvm
        self._tasks = tasks
        self._cores = ClusterCores(context)
        self._anchors = Anchors(context)
        self._program: Program | None = None
        self._slots: list[int] = []
        self._stages: list[SlottedStage] = []
        self._partitioner: JavaObject = None
        self._source: JavaObject = None
        self._broadcast: Any = None
        self._workers: dict[tuple[int, int], str] = {}
        """Worker process of each subtask, from its last answer."""
        self._unsettled = 0
        """Number of further epochs after which slots are compared with the executors of the
        tasks."""
        self._cleaner = ShuffleCleaner(context)
        self._name = ""
        """Name of this job's Spark jobs: their job group, or their tag if the user has set a
        group."""
        self._digest = ""

    def deploy(self, program: Program) -> None:
        """Ship the program and build the parts that are the same in every epoch."""
        if self._program is not None:  # the job goes on with another parallelism
            closed_runs.append(self._program.run_id)
        self._cores.wait_until_known()
        try:
            self._deploy(program)
        except (Py4JError, PySparkException) as error:
            raise ExecutorError(f"Spark does not run: {reason_of(error)}") from error

    def _deploy(self, program: Program) -> None:
        tasks = self._tasks or self._cores.count
        self._program = program = replace(
            program,
            tasks=tasks,
            closed_runs=tuple(closed_runs),
            log=worker_log(program.log, str(self._context.master)),
        )
        data = dump_code(program, lambda: f"job '{program.job_name}'")
        if self._broadcast is not None:
            self._broadcast.unpersist()
        self._broadcast = self._context.broadcast(data)
        self._digest = hashlib.sha256(data).hexdigest()
        self._name = f"millrace-{program.run_id}"
        self._properties.apply(self._name)
        self._partitioner = self._anchors.partitioner(program.max_width)
        self._workers.clear()
        self._build(self._assigned(program.max_width))

    def _assigned(self, width: int) -> list[int]:
        """The slots of a number of tasks, at their current executors."""
        return assign_slots(self._anchors.executors(width), self._slots)

    def _build(self, slots: list[int]) -> None:
        """Build the functions of all levels for these slots."""
        assert self._program is not None
        self._slots = slots
        levels = self._program.levels
        self._stages = [self._stage(self._program, level) for level in range(levels)]
        self._source = self._first_level(self._anchors.of(self._program.max_width))

    def _first_level(self, input_rdd: JavaObject) -> JavaObject:
        """The output of the sources' level."""
        assert self._program is not None
        output = self._stages[0].over(input_rdd.rdd())
        return output if self._program.levels == 1 else self._pairs(output)

    def _stage(self, program: Program, level: int) -> SlottedStage:
        last = level + 1 == program.levels

        def function(tasks: tuple[int, ...]) -> LevelTask:
            return LevelTask(self._broadcast, self._digest, level, tasks, last, self._environment)

        chosen = members(self._slots, program.width(level))
        return SlottedStage(self._context, chosen, function, self._environment)

    def prepare(self, program: Program) -> CompletableFuture[None]:
        """Start the Python workers of the slots that a new program needs in addition."""
        width = replace(program, tasks=self._tasks or self._cores.count).max_width
        future: CompletableFuture[None] = CompletableFuture()
        try:
            new = members(self._assigned(width), width).items()
            outputs = [
                SlottedStage(self._context, {slot: tasks}, lambda _: WarmUp(), self._environment)
                for slot, tasks in new
                if slot not in self._slots
            ]
            rdds = [stage.over(self._anchors.of(width).rdd()) for stage in outputs]
        except (Py4JError, PySparkException) as error:
            future.set_exception(ExecutorError(reason_of(error)))
            return future

        def run() -> None:
            try:
                self._properties.apply(self._name)
                # one after the other: epochs need the other cores
                for rdd in rdds:
                    rdd.count()
            except (Py4JError, PySparkException) as error:
                future.set_exception(ExecutorError(reason_of(error)))
            else:
                future.set_result(None)

        if not rdds:
            return CompletableFuture.completed(None)
        Thread(target=run, name="millrace-warm-up", daemon=True).start()
        return future

    def _pairs(self, output: JavaObject) -> JavaObject:
        """Alternating targets and buffers as pairs, for a shuffle."""
        return self._jvm.PairwiseRDD(output.rdd()).asJavaPairRDD()

    def begin_epoch(self, plan: EpochPlan) -> None:
        """Do nothing: `run_epoch` begins and ends an epoch."""

    def run_epoch(self, plan: EpochPlan, hooks: EpochHooks | None = None) -> list[Ack]:
        """Run one epoch as one Spark job."""
        if self._context._jsc is None:  # stopped by the program
            require_application(self._context)
        self._follow_cores()
        assert self._program is not None
        try:
            text, file = encode_plan(plan, self._program.max_width)
        except OSError as error:
            raise ExecutorError(f"the epoch's plan cannot be written: {error}") from error
        context = self._context
        try:
            context.setLocalProperty(PLAN_PROPERTY, text)
            elements = self._collect(self._epoch_rdd(plan))
        except (Py4JError, PySparkException, EOFError, OSError) as error:
            raise self._loss(error) from error
        finally:
            if file is not None:
                os.unlink(file)
        acks = list(map(ack_of, elements))
        self._follow_tasks(acks)
        return acks

    def _loss(self, error: Exception) -> JobExecutionError:
        """An ExecutorError if the epoch can run again; another error if this application cannot
        run it."""
        require_application(self._context)
        if isinstance(error, (EOFError, OSError)):
            return ExecutorError(f"the connection to Spark broke: {error}")
        lasting = start_failure(message_of(error))
        if lasting is not None:
            return JobExecutionError(lasting)
        return ExecutorError(self._cause_of_loss(error))

    def _cause_of_loss(self, error: Exception) -> str:
        """Reason why an epoch was lost; for a dead worker also its operators."""
        reason, death = reason_of(error), worker_death(message_of(error))
        if death is None:
            return reason
        return f"a Python worker died in {self._operators_of(death.stage)}: {death.reason}"

    def _operators_of(self, spark_stage: int) -> str:
        """The operators in a stage of the running Spark job."""
        assert self._program is not None
        stages = list(self._program.stages)
        if self._context._jsc is None:  # stopped by the program
            return " or ".join(f"'{stage.name}'" for stage in stages)
        tracker = self._context.statusTracker()
        for job in tracker.getJobIdsForGroup(self._properties.group or self._name):
            info = tracker.getJobInfo(job)
            ids = sorted(info.stageIds) if info is not None else []
            if spark_stage in ids:  # the last has the highest number
                level = self._program.levels - len(ids) + ids.index(spark_stage)
                stages = list(self._program.stages_at(level)) or stages
        return " or ".join(f"'{stage.name}'" for stage in stages)

    def _follow_cores(self) -> None:
        """Spread the subtasks over more tasks when the application has permanently more cores."""
        program = self._program
        assert program is not None
        try:
            grown = self._tasks is None and self._cores.have_grown()
            if grown and replace(program, tasks=self._cores.count).max_width > program.max_width:
                log.info("the job's levels run as %d tasks now", self._cores.count)
                self._deploy(program)
        except (Py4JError, PySparkException, OSError) as error:
            raise self._loss(error) from error

    def _follow_tasks(self, acks: list[Ack]) -> None:
        """Separate tasks of one executor that share a slot after tasks have moved."""
        workers = {(ack.stage, ack.subtask): ack.worker for ack in acks}
        known, self._workers = self._workers, workers
        if any(known.get(subtask, worker) != worker for subtask, worker in workers.items()):
            self._unsettled = 2  # where a task has moved to is known once the next epoch has begun
        if self._unsettled and self._anchors.pinned:
            self._unsettled -= 1
            slots = self._assigned(len(self._slots))
            if slots != self._slots:
                self._build(slots)

    def _epoch_rdd(self, plan: EpochPlan) -> JavaObject:
        current = self._source_rdd(plan)
        last = len(self._stages) - 1
        for level in range(1, last + 1):
            output = self._stages[level].over(self._exchanged(current).rdd())
            current = output if level == last else self._pairs(output)
        return current

    def _source_rdd(self, plan: EpochPlan) -> JavaObject:
        """The output of the sources' level, including deliveries of DataFrames."""
        assert self._program is not None
        delivered = self._deliveries.of(plan, self._program.max_width)
        if not delivered:
            return self._source
        pairs = [self._pairs(part) for part in delivered]
        joined = pairs[0]
        for other in pairs[1:]:
            joined = joined.union(other)
        return self._first_level(self._exchanged(joined))

    def _exchanged(self, pairs: JavaObject) -> JavaObject:
        """Buffers at their target tasks, on the executors of these tasks."""
        shuffled = pairs.partitionBy(self._partitioner)
        self._cleaner.note(shuffled)
        return self._anchors.pin(self._jvm.PythonRDD.valueOfPair(shuffled))

    def _collect(self, output: JavaObject) -> list[bytes]:
        served = self._jvm.PythonRDD.collectAndServe(output.rdd())
        with _elements_of(served) as elements:
            collected = list(unframed(elements))
        self._cleaner.clean()
        return collected

    def end_reading(self) -> None:
        """Do nothing: sources look for the file that the plan names."""

    def cancel(self, only: tuple[int, int] | None = None) -> None:
        """Cancel the running Spark job."""
        with contextlib.suppress(Py4JError):
            self._properties.cancel(self._name)

    def finished(self) -> None:
        """Let subtasks delete their files now, because Spark ends workers without notice."""
        if self._program is None or not self._program.state_backend.has_files:
            return
        width = self._program.max_width
        chosen = members(self._slots, width)
        with contextlib.suppress(Py4JError, PySparkException):
            stage = SlottedStage(self._context, chosen, lambda _: CloseEnded(), self._environment)
            stage.over(self._anchors.of(width).rdd()).count()

    def close(self) -> None:
        """Release the application's resources of this job."""
        self._cleaner.close()
        if self._program is not None:
            closed_runs.append(self._program.run_id)
        with contextlib.suppress(Exception):
            self._properties.apply()  # the thread may be the user's
            self._anchors.close()
            if self._broadcast is not None:
                self._broadcast.unpersist()


def _elements_of(served: JavaObject) -> AbstractContextManager[Iterable[bytes]]:
    """Elements that the JVM serves at a socket, which is closed in the end."""
    elements: Any = _load_from_socket(served, NoOpSerializer())
    # a generator in older versions of PySpark 4
    return elements if hasattr(elements, "__enter__") else contextlib.closing(elements)


def message_of(error: Exception) -> str:
    """Message of an error of Spark or py4j."""
    java = getattr(error, "java_exception", None)
    return str(java.getMessage()) if java is not None else str(error)


def without_java_frames(message: str) -> str:
    """Spark's message without the Java stack that follows it."""
    return message.strip().split("\n\tat ")[0].rstrip()


_BEGINNING, _END = 300, 900
"""Characters of a long reason: what ran, and the end of the worker's traceback."""


def reason_of(error: Exception) -> str:
    """First lines of Spark's message. If it contains a long traceback, also the last lines, because
    they have the cause. The log has the whole message.
    """
    log.debug("Spark failed", exc_info=error)
    told = without_java_frames(message_of(error))
    if "Traceback (most recent call last)" not in told:  # whose parts have empty lines between them
        told = told.split("\n\n")[0]
    if len(told) <= _BEGINNING + _END:
        return told
    return f"{told[:_BEGINNING]}\n...\n{told[-_END:]}"
