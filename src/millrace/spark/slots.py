"""Slots, through which a task gets the same Python worker process in every epoch.

PySpark keeps its idle workers in one queue per (interpreter, environment) and hands them out in
turn, so a task changes its process in half of the epochs. But workers with different environment
variables never share a queue. So a level is cut into slots, each a Python RDD with an environment
of its own over its part of the tasks. Two tasks of one executor never have the same slot: one
worker per slot and executor, the same one every time.
See docs/decisions for the measurements.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import Any

from pyspark import SparkContext
from pyspark.core.rdd import _wrap_function
from pyspark.serializers import NoOpSerializer

from millrace.spark.worker_environment import WorkerEnvironment, variable_of_functions

SLOT_VARIABLE = "MILLRACE_SLOT"

WRAPPING = Lock()
"""Held while a function is wrapped, because all jobs of a process share the context with its
variables."""

JavaObject = Any


def assign_slots(executors: Sequence[str | None], previous: Sequence[int] = ()) -> list[int]:
    """The slot of each task, from the executor of each (None if unknown).

    Tasks of one executor, and tasks of which nothing is known, get different slots. A task keeps
    its ``previous`` slot unless another one has that already: a new slot is a new worker process.
    """
    slots: list[int] = []
    taken: dict[str | None, set[int]] = {}
    for task, executor in enumerate(executors):
        there = taken.setdefault(executor, set())
        slot = previous[task] if task < len(previous) else 0
        while slot in there:
            slot = slot + 1 if slot + 1 < len(executors) else 0
        there.add(slot)
        slots.append(slot)
    return slots


def members(slots: Sequence[int], width: int) -> dict[int, tuple[int, ...]]:
    """The tasks of each slot among the first ``width``."""
    tasks: dict[int, tuple[int, ...]] = {}
    for task, slot in enumerate(slots[:width]):
        tasks[slot] = (*tasks.get(slot, ()), task)
    return tasks


class SlottedStage:
    """The functions of one level, one per slot. They can be applied to any input.

    Args:
        tasks: per slot, the partitions of the input that are its tasks.
        function: makes the function of a slot, given the slot's tasks.
        environment: environment in which workers find the job's dependencies.
    """

    def __init__(
        self,
        context: SparkContext,
        tasks: Mapping[int, tuple[int, ...]],
        function: Callable[[tuple[int, ...]], Callable[..., Any]],
        environment: WorkerEnvironment,
    ) -> None:
        self._context = context
        self._environment = environment
        self._jvm: Any = context._jvm
        self._filters = [self._index_set(chosen) for chosen in tasks.values()]
        self._functions = [self._wrapped(slot, function(ts)) for slot, ts in tasks.items()]

    def over(self, input_rdd: JavaObject) -> JavaObject:
        """The level's output as a JavaRDD, computed from ``input_rdd`` (a Scala RDD of bytes)."""
        pruned = self._jvm.org.apache.spark.rdd.PartitionPruningRDD
        parts = [
            self._jvm.PythonRDD(pruned.create(input_rdd, chosen), function, False, False)
            for chosen, function in zip(self._filters, self._functions, strict=True)
        ]
        if len(parts) == 1:
            return parts[0].asJavaRDD()
        return self._union(parts)

    def _union(self, parts: list[JavaObject]) -> JavaObject:
        gateway: Any = self._context._gateway
        array = gateway.new_array(self._jvm.org.apache.spark.api.java.JavaRDD, len(parts))
        for index, part in enumerate(parts):
            array[index] = part.asJavaRDD()
        return self._context._jsc.union(array)

    def _index_set(self, indexes: Sequence[int]) -> JavaObject:
        """A Scala set of partition indexes. A set is a predicate, as PartitionPruningRDD needs
        it."""
        return self._jvm.PythonUtils.toSeq(list(indexes)).toSet()

    def _wrapped(self, slot: int, function: Callable[..., Any]) -> JavaObject:
        serializer = NoOpSerializer()
        with (
            WRAPPING,
            self._environment.of_functions(self._context),
            variable_of_functions(self._context, SLOT_VARIABLE, str(slot)),
        ):
            return _wrap_function(self._context, function, serializer, serializer)
