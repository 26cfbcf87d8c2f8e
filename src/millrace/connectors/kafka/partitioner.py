"""Partitioners that know their subtask. Flink: ``KafkaPartitioner``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

__all__ = ["FixedPartitioner", "KafkaPartitioner", "RoundRobinPartitioner"]


class KafkaPartitioner(ABC):
    """Chooses the partition of each record; each subtask of a sink has an instance of its own."""

    def open(self, parallel_instance_id: int, parallel_instances: int) -> None:
        """Receive the subtask's index and the parallelism, before any other call."""

    @abstractmethod
    def partition(
        self,
        record: Any,
        key: bytes | None,
        value: bytes | None,
        target_topic: str,
        partitions: list[int],
    ) -> int:
        """One of the topic's partitions."""


class FixedPartitioner(KafkaPartitioner):
    """Uses one partition for all records of a subtask.

    >>> fixed = FixedPartitioner()
    >>> fixed.open(3, 4)
    >>> fixed.partition(None, None, None, "t", [0, 1])
    1
    """

    def __init__(self) -> None:
        self._instance = 0

    def open(self, parallel_instance_id: int, parallel_instances: int) -> None:
        self._instance = parallel_instance_id

    def partition(
        self,
        record: Any,
        key: bytes | None,
        value: bytes | None,
        target_topic: str,
        partitions: list[int],
    ) -> int:
        return partitions[self._instance % len(partitions)]


class RoundRobinPartitioner(KafkaPartitioner):
    """Uses the partitions in turn; each subtask begins at a different one.

    >>> turns = RoundRobinPartitioner()
    >>> [turns.partition(None, None, None, "t", [0, 1]) for _ in range(3)]
    [0, 1, 0]
    """

    def __init__(self) -> None:
        self._next = 0

    def open(self, parallel_instance_id: int, parallel_instances: int) -> None:
        self._next = parallel_instance_id

    def partition(
        self,
        record: Any,
        key: bytes | None,
        value: bytes | None,
        target_topic: str,
        partitions: list[int],
    ) -> int:
        self._next += 1
        return partitions[(self._next - 1) % len(partitions)]
