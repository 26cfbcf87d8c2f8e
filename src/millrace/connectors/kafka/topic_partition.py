"""A partition of a topic. PyFlink: class ``KafkaTopicPartition``."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["KafkaTopicPartition"]


class KafkaTopicPartition(NamedTuple):
    """A partition of a topic.

    Example:
        >>> KafkaTopicPartition("orders", 0)
        KafkaTopicPartition(topic='orders', partition=0)
    """

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"
