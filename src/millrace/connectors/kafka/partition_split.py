"""Splits of a Kafka source: partitions with a start and an end offset. Flink:
``KafkaPartitionSplit``."""

from __future__ import annotations

from dataclasses import dataclass

from millrace.common.source import SourceEvent, SourceSplit
from millrace.connectors.kafka.topic_partition import KafkaTopicPartition

__all__ = ["ContinuedPartitionSplit", "KafkaPartitionSplit", "SplitsRemoved"]


@dataclass(frozen=True)
class KafkaPartitionSplit(SourceSplit):
    """Records of a partition from one offset up to, but not including, another."""

    topic: str
    partition: int
    starting_offset: int
    stopping_offset: int | None = None
    """None if the split never ends."""

    @property
    def place(self) -> KafkaTopicPartition:
        """Topic and number of the partition."""
        return KafkaTopicPartition(self.topic, self.partition)

    def continued_at(self, offset: int) -> ContinuedPartitionSplit:
        """The same split, from the offset up to which the job has read the partition before."""
        return ContinuedPartitionSplit(
            self.split_id, self.topic, self.partition, offset, self.stopping_offset
        )


@dataclass(frozen=True)
class ContinuedPartitionSplit(KafkaPartitionSplit):
    """A partition that was not read for a while. The job has read all records before its first
    offset, so it is an error if later records are missing.
    """


@dataclass(frozen=True)
class SplitsRemoved(SourceEvent):
    """Tells an enumerator the offset at which a reader has stopped reading each removed split, by
    split id."""

    offsets: dict[str, int]
