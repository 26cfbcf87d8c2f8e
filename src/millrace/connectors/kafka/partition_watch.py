"""Detection of new records in the driver, so that idle subtasks need not poll."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import Any

from millrace.common.source import SourceEvent
from millrace.connectors.kafka.client import create_admin, import_confluent_kafka
from millrace.connectors.kafka.topic_partition import KafkaTopicPartition

__all__ = ["NewRecords", "PartitionWatch"]


class NewRecords(SourceEvent):
    """New records were committed to a partition of the source."""


class PartitionWatch:
    """Requests the end offsets of partitions from the brokers, one request at a time, without
    waiting.

    The end does not move while the transaction after it is open: its records cannot be read before
    they are committed.

    Args:
        config: configuration of a client.
    """

    def __init__(self, config: Mapping[str, Any]) -> None:
        self._config = config
        self._kafka = import_confluent_kafka()
        self._administration: Any = import_module("confluent_kafka.admin")
        self._admin: Any = None
        self._asked: dict[Any, Any] = {}
        """The answers to come, by partition."""
        self._ends: dict[KafkaTopicPartition, int] = {}
        self.shrunk = False
        """Whether the last answer had a partition that ends before where it once did."""

    def look(self, places: Iterable[KafkaTopicPartition]) -> bool:
        """Process the response to the last request, if it has arrived, and send the next one.

        Returns:
            Whether an end was somewhere else before, or is known for the first time.
        """
        self.shrunk = False
        if not all(answer.done() for answer in self._asked.values()):
            return False
        ends = self._answers()
        moved = any(self._ends.get(place) != end for place, end in ends.items())
        self.shrunk = any(self._ends.get(place, 0) > end for place, end in ends.items())
        self._ends.update(ends)
        self._ask(places)
        return moved

    def _answers(self) -> dict[KafkaTopicPartition, int]:
        """End offsets that the brokers returned; the next request is for all partitions again."""
        return {
            KafkaTopicPartition(partition.topic, partition.partition): answer.result().offset
            for partition, answer in self._asked.items()
            if answer.exception() is None
        }

    def _ask(self, places: Iterable[KafkaTopicPartition]) -> None:
        if self._admin is None:
            self._admin = create_admin(self._config)
        latest = self._administration.OffsetSpec.latest()
        wanted = {self._kafka.TopicPartition(*place): latest for place in places}
        self._asked = {}
        if wanted:
            committed = self._kafka.IsolationLevel.READ_COMMITTED
            self._asked = self._admin.list_offsets(wanted, isolation_level=committed)
