"""Slots: how a subtask gets the same Python worker process in every epoch.

PySpark keeps its idle workers in one queue per (interpreter, environment) and hands them out in
turn, so a subtask changes its process in half of the epochs. But workers with different
environment variables never share a queue. So a level is cut into slots, each a Python RDD with an
environment of its own over its part of the partitions: one worker per slot and host, the same one
every time.
See docs/decisions for the measurements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from pyspark import SparkContext
from pyspark.core.rdd import _wrap_function
from pyspark.serializers import NoOpSerializer

SLOT_VARIABLE = "MILLRACE_SLOT"

JavaObject = Any


class SlottedStage:
    """The functions of one level, one per slot (or of one of them), to be put over any input."""

    def __init__(
        self,
        context: SparkContext,
        partitions: int,
        slots: int,
        function: Callable[[int, int], Callable[..., Any]],
        only: int | None = None,
    ) -> None:
        self._context = context
        self._jvm: Any = context._jvm
        self._slots = min(slots, partitions)
        chosen = range(self._slots) if only is None else (only,)
        self._filters = [self._index_set(range(slot, partitions, self._slots)) for slot in chosen]
        self._functions = [self._wrapped(slot, function(slot, self._slots)) for slot in chosen]

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

    def _index_set(self, indexes: range) -> JavaObject:
        """A Scala set of partition indexes; it serves as the function that PartitionPruningRDD
        wants, for a set is a predicate."""
        return self._jvm.PythonUtils.toSeq(list(indexes)).toSet()

    def _wrapped(self, slot: int, function: Callable[..., Any]) -> JavaObject:
        serializer = NoOpSerializer()
        with _environment(self._context, SLOT_VARIABLE, str(slot)):
            return _wrap_function(self._context, function, serializer, serializer)


@contextmanager
def _environment(context: SparkContext, name: str, value: str) -> Iterator[None]:
    context.environment[name] = value
    try:
        yield
    finally:
        context.environment.pop(name, None)
