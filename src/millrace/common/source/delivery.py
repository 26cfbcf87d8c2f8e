"""Deliveries: records that the executor already holds and brings to a source's subtasks.

Other readers fetch their records themselves. Those of a Spark DataFrame are in Spark already, as
partitions of an RDD: the executor of the epoch joins that to the source's tasks.
"""

from __future__ import annotations

from dataclasses import dataclass

from millrace.common.source.source_split import SourceEvent, SourceSplit

__all__ = ["BatchDelivery", "Consumed", "Lane"]


@dataclass(frozen=True)
class Lane(SourceSplit):
    """A split that gets one share of each delivery: partition n goes to lane n modulo the number
    of lanes."""

    number: int = 0


@dataclass(frozen=True)
class BatchDelivery(SourceEvent):
    """Event that announces a batch to all lanes of the source in this epoch.

    Attributes:
        feed: id of what the executor takes it from; it ends with the driver's process.
        batch: the number of the batch.
        partitions: the partitions of the batch.
        last: nothing follows: the lanes end.
        at_end: nothing follows in this run; the lanes stay for the next one.
    """

    feed: str
    batch: int
    partitions: tuple[int, ...] = ()
    last: bool = False
    at_end: bool = False


@dataclass(frozen=True)
class Consumed(SourceEvent):
    """A subtask's answer to a `BatchDelivery`, with the number of records in its share."""

    feed: str
    batch: int
    records: int
