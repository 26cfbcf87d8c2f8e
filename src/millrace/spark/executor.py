"""Epochs on Spark: one epoch is one Spark job, one level is one stage of it."""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import struct
from collections import deque
from dataclasses import replace
from queue import SimpleQueue
from threading import Thread
from typing import Any

from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.serializers import NoOpSerializer
from pyspark.util import _load_from_socket

from millrace.common.completable_future import CompletableFuture
from millrace.engine.executor import ExecutorError
from millrace.runtime.buffer import Buffer, BufferKind
from millrace.runtime.epoch import Ack, EpochPlan
from millrace.runtime.program import Program
from millrace.spark.slots import JavaObject, SlottedStage
from millrace.spark.task import ANCHOR, PLAN_PROPERTY, LevelTask, WarmUp, encode_plan
from millrace.state.serialization.payload import decode, dump_code

log = logging.getLogger(__name__)

_closed_runs: deque[str] = deque(maxlen=256)


def _partition_function(key: int) -> int:
    """Never called: its identity tells Spark that partitioners are the same."""
    return key


class SparkExecutor:
    """Runs the epochs of one job in a Spark application.

    Args:
        context: the application's SparkContext.
        slots: the most Python worker processes per host that a level keeps apart.
    """

    def __init__(self, context: SparkContext, slots: int = 16) -> None:
        self._context = context
        self._jvm: Any = context._jvm
        self._slots = slots
        self._anchored = not str(context.master).startswith("local[")
        self._anchors: dict[int, JavaObject] = {}
        self._stages: list[SlottedStage] = []
        self._partitions: list[int] = []
        self._source: JavaObject = None
        self._broadcast: Any = None
        self._cleaner = _ShuffleCleaner(context)
        self._group = ""
        self._run_id = ""

    def deploy(self, program: Program) -> None:
        """Ship the program and build what is the same in every epoch."""
        if self._run_id:  # the job goes on with another parallelism
            _closed_runs.append(self._run_id)
        if self._broadcast is not None:
            self._broadcast.unpersist()
        program = replace(program, closed_runs=tuple(_closed_runs))
        self._run_id = program.run_id
        data = dump_code(program, lambda: f"job '{program.job_name}'")
        try:
            self._build(program, data)
        except (Py4JError, PySparkException) as error:
            raise ExecutorError(f"Spark does not run: {_reason(error)}") from error

    def _build(self, program: Program, data: bytes) -> None:
        digest = hashlib.sha256(data).hexdigest()
        self._broadcast = self._context.broadcast(data)
        self._group = f"millrace-{program.run_id}"
        self._partitions = [program.partitions(level) for level in range(program.levels)]
        self._stages = [
            self._stage(program, digest, level, partitions)
            for level, partitions in enumerate(self._partitions)
        ]
        first = self._stages[0].over(self._anchor(self._partitions[0]).rdd())
        self._source = first if program.levels == 1 else self._pairs(first)

    def prepare(self, program: Program) -> CompletableFuture[None]:
        """Start the Python workers of slots that the running program does not have."""
        width = max(program.partitions(level) for level in range(program.levels))
        new = range(min(self._slots, max(self._partitions)), min(self._slots, width))
        if not new:
            return CompletableFuture.completed(None)
        future: CompletableFuture[None] = CompletableFuture()
        try:
            outputs = [self._warm_up(width, slot) for slot in new]
        except (Py4JError, PySparkException) as error:
            future.set_exception(ExecutorError(_reason(error)))
            return future

        def run() -> None:
            try:
                # one after the other: epochs need the other cores
                for output in outputs:
                    output.count()
            except (Py4JError, PySparkException) as error:
                future.set_exception(ExecutorError(_reason(error)))
            else:
                future.set_result(None)

        Thread(target=run, name="millrace-warm-up", daemon=True).start()
        return future

    def _warm_up(self, width: int, slot: int) -> JavaObject:
        stage = SlottedStage(self._context, width, self._slots, lambda *_: WarmUp(), slot)
        return stage.over(self._anchor(width).rdd())

    def _stage(self, program: Program, digest: str, level: int, partitions: int) -> SlottedStage:
        last = level + 1 == program.levels

        def function(slot: int, slots: int) -> LevelTask:
            return LevelTask(self._broadcast, digest, level, slot, slots, last)

        return SlottedStage(self._context, partitions, self._slots, function)

    def _pairs(self, output: JavaObject) -> JavaObject:
        """Alternating targets and buffers as the pairs that a shuffle wants."""
        return self._jvm.PairwiseRDD(output.rdd()).asJavaPairRDD()

    def _partitioner(self, partitions: int) -> JavaObject:
        return self._jvm.PythonPartitioner(partitions, id(_partition_function))

    def _anchor(self, partitions: int) -> JavaObject:
        """A cached RDD with one element per partition. On a cluster its blocks tell Spark's
        scheduler where each subtask belongs."""
        anchor = self._anchors.get(partitions)
        if anchor is None:
            elements = self._jvm.java.util.ArrayList()
            for index in range(partitions):
                elements.add(bytearray(struct.pack(">q", index)))
                elements.add(bytearray(ANCHOR))
            pairs = self._context._jsc.parallelize(elements, partitions)
            anchor = self._shuffled(self._pairs(pairs), partitions)
            if self._anchored:
                anchor = anchor.cache()
            anchor.count()
            self._anchors[partitions] = anchor
        return anchor

    def _shuffled(self, pairs: JavaObject, partitions: int) -> JavaObject:
        return self._jvm.PythonRDD.valueOfPair(pairs.partitionBy(self._partitioner(partitions)))

    def run_epoch(self, plan: EpochPlan) -> list[Ack]:
        """Run one epoch as one Spark job."""
        try:
            text, file = encode_plan(plan)
        except OSError as error:
            raise ExecutorError(f"the epoch's plan cannot be written: {error}") from error
        context = self._context
        try:
            context.setLocalProperty(PLAN_PROPERTY, text)
            context.setLocalProperty("spark.jobGroup.id", self._group)
            elements = self._collect(self._epoch_rdd())
        except (Py4JError, PySparkException) as error:
            raise ExecutorError(_reason(error)) from error
        except (EOFError, OSError) as error:
            raise ExecutorError(f"the connection to Spark broke: {error}") from error
        finally:
            if file is not None:
                os.unlink(file)
        return [_ack(element) for element in elements]

    def _epoch_rdd(self) -> JavaObject:
        current = self._source
        last = len(self._stages) - 1
        for level in range(1, last + 1):
            partitions = self._partitions[level]
            shuffled = current.partitionBy(self._partitioner(partitions))
            self._cleaner.note(shuffled)
            values = self._jvm.PythonRDD.valueOfPair(shuffled)
            if self._anchored:
                values = values.union(self._anchor(partitions))
            output = self._stages[level].over(values.rdd())
            current = output if level == last else self._pairs(output)
        return current

    def _collect(self, output: JavaObject) -> list[bytes]:
        served = self._jvm.PythonRDD.collectAndServe(output.rdd())
        with _load_from_socket(served, NoOpSerializer()) as elements:
            collected = [bytes(element) for element in elements]
        self._cleaner.clean()
        return collected

    def cancel(self) -> None:
        """Cancel the running Spark job."""
        with contextlib.suppress(Py4JError):
            self._context.cancelJobGroup(self._group)

    def close(self) -> None:
        """Release what the application holds for this job."""
        self._cleaner.close()
        _closed_runs.append(self._run_id)
        with contextlib.suppress(Exception):
            self._context.setLocalProperty(PLAN_PROPERTY, None)  # type: ignore[arg-type]
            for anchor in self._anchors.values():
                if self._anchored:
                    anchor.unpersist()
            if self._broadcast is not None:
                self._broadcast.unpersist()


class _ShuffleCleaner:
    """Removes an epoch's shuffle files as soon as it is over; Spark itself waits for the JVM's
    garbage collector, while every epoch leaves files behind. Works in a thread of its own."""

    def __init__(self, context: SparkContext) -> None:
        self._context = context
        self._noted: list[JavaObject] = []
        self._queue: SimpleQueue[JavaObject | None] = SimpleQueue()
        self._thread: Thread | None = None

    def note(self, shuffled: JavaObject) -> None:
        """A shuffle of the running epoch."""
        self._noted.append(shuffled)

    def clean(self) -> None:
        """The epoch is over."""
        if self._thread is None:
            self._thread = Thread(target=self._run, name="millrace-shuffle-cleaner", daemon=True)
            self._thread.start()
        for shuffled in self._noted:
            self._queue.put(shuffled)
        self._noted = []

    def _run(self) -> None:
        while (shuffled := self._queue.get()) is not None:
            try:
                shuffle_id = shuffled.rdd().dependencies().head().shuffleId()
                self._context._jsc.sc().cleaner().get().doCleanupShuffle(shuffle_id, False)
            except Exception as error:
                log.debug("could not clean up a shuffle: %s", error)

    def close(self) -> None:
        """End the thread."""
        if self._thread is not None:
            self._queue.put(None)
            self._thread.join(5)


def _ack(element: bytes) -> Ack:
    buffer = Buffer.unpack(element)
    assert buffer.kind == BufferKind.ACK
    ack = decode(buffer.payload)
    assert isinstance(ack, Ack)
    return ack


def _reason(error: Exception) -> str:
    """The first lines of what Spark says; the whole goes to the log."""
    log.debug("Spark failed", exc_info=error)
    java = getattr(error, "java_exception", None)
    text = str(java.getMessage()) if java is not None else str(error)
    without_stack = text.strip().split("\n\n")[0].split("\n\tat ")[0]
    return without_stack[:600]
