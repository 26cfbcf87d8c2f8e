"""Anchors: cached RDDs that assign tasks to executors in Spark's scheduler."""

from __future__ import annotations

import struct
from typing import Any

from pyspark import SparkContext

from millrace.spark.cluster_cores import in_driver
from millrace.spark.slots import JavaObject
from millrace.spark.task import ANCHOR


def _partition_function(key: int) -> int:
    """Function that Spark never calls: its identity tells Spark that partitioners are equal."""
    return key


class Anchors:
    """Cached RDDs, one for each number of tasks, with one element per partition. On a cluster, a
    task runs on the executor that has its block in the cache.
    """

    def __init__(self, context: SparkContext) -> None:
        self._context = context
        self._jvm: Any = context._jvm
        self.pinned = not in_driver(context)
        """Whether there is more than one executor to choose from."""
        self._anchors: dict[int, JavaObject] = {}
        self._partitioners: dict[int, JavaObject] = {}

    def partitioner(self, width: int) -> JavaObject:
        """Partitioner that sends the data of task n to partition n."""
        if width not in self._partitioners:
            made = self._jvm.PythonPartitioner(width, id(_partition_function))
            self._partitioners[width] = made
        return self._partitioners[width]

    def of(self, width: int) -> JavaObject:
        """The anchor RDD for a number of tasks."""
        if width not in self._anchors:
            self._anchors[width] = self._made(width)
        return self._anchors[width]

    def _made(self, width: int) -> JavaObject:
        elements = self._jvm.java.util.ArrayList()
        for index in range(width):
            elements.add(bytearray(struct.pack(">q", index)))
            elements.add(bytearray(ANCHOR))
        single = self._context._jsc.parallelize(elements, width)
        pairs = self._jvm.PairwiseRDD(single.rdd()).asJavaPairRDD()
        anchor = self._jvm.PythonRDD.valueOfPair(pairs.partitionBy(self.partitioner(width)))
        if self.pinned:
            anchor = anchor.cache()
        anchor.count()
        if self.pinned:
            anchor.count()  # Spark looks up where blocks are when a job begins
        return anchor

    def pin(self, values: JavaObject) -> JavaObject:
        """The input of a level as an RDD that is partitioned by `partitioner`. Each partition is on
        the executor of its task.
        """
        return values.union(self.of(values.getNumPartitions())) if self.pinned else values

    def executors(self, width: int) -> list[str | None]:
        """The executor of each task when the last job began; None if its block was lost."""
        if not self.pinned:
            return [None] * width
        anchor, context = self.of(width).rdd(), self._context._jsc.sc()
        locations = [context.getPreferredLocs(anchor, task) for task in range(width)]
        return [
            str(places.head().toString()) if places.nonEmpty() else None for places in locations
        ]

    def close(self) -> None:
        """Release the cached blocks."""
        if self.pinned:
            for anchor in self._anchors.values():
                anchor.unpersist()
