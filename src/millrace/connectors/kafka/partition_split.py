"""Splits of a Kafka source: partitions with a start and an end offset. Flink:
``KafkaPartitionSplit``."""

from __future__ import annotations

from dataclasses import dataclass

from millrace.common.source import SourceSplit
from millrace.connectors.kafka.topic_partition import KafkaTopicPartition

__all__ = ["KafkaPartitionSplit"]


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
        """The partition."""
        return KafkaTopicPartition(self.topic, self.partition)
