"""Partitions that a Kafka source reads. Flink docs: "Kafka", Topic-partition Subscription."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from millrace.connectors.kafka.client import KafkaError, import_confluent_kafka
from millrace.connectors.kafka.topic_partition import KafkaTopicPartition

__all__ = ["KafkaSubscription"]

REQUEST_TIMEOUT_S = 30.0
_INTERNAL = frozenset({"__consumer_offsets", "__share_group_state", "__transaction_state"})
"""Topics of the brokers' own, which no pattern means."""


@dataclass(frozen=True)
class KafkaSubscription:
    """A subscription to topics by name, to topics by pattern, or to partitions."""

    topics: tuple[str, ...] = ()
    pattern: str | None = None
    partitions: tuple[KafkaTopicPartition, ...] = ()

    def find(self, consumer: Any) -> set[KafkaTopicPartition]:
        """The partitions that exist now.

        Raises:
            KafkaError: a topic or partition that was named is not there.
        """
        if self.pattern is not None:
            return self._matching(consumer, re.compile(self.pattern))
        names = self.topics or tuple(sorted({place.topic for place in self.partitions}))
        existing = {place for name in names for place in _partitions(name, consumer)}
        if not self.partitions:
            return existing
        if missing := set(self.partitions) - existing:
            raise KafkaError(f"there is no partition {', '.join(sorted(map(str, missing)))}")
        return set(self.partitions)

    def _matching(self, consumer: Any, pattern: re.Pattern[str]) -> set[KafkaTopicPartition]:
        topics = consumer.list_topics(timeout=REQUEST_TIMEOUT_S).topics
        return {
            KafkaTopicPartition(name, number)
            for name, topic in topics.items()
            if pattern.fullmatch(name) and name not in _INTERNAL and topic.error is None
            for number in topic.partitions
        }


def _partitions(name: str, consumer: Any) -> list[KafkaTopicPartition]:
    topic = consumer.list_topics(name, timeout=REQUEST_TIMEOUT_S).topics[name]
    if topic.error is None:
        return [KafkaTopicPartition(name, number) for number in topic.partitions]
    if topic.error.code() == import_confluent_kafka().KafkaError.UNKNOWN_TOPIC_OR_PART:
        raise KafkaError(
            f"there is no topic '{name}': create it first, or subscribe to topics that may come "
            "later with set_topic_pattern() of the source, or 'topic-pattern' of a table"
        )
    raise KafkaError(f"topic '{name}' cannot be read: {topic.error.str()}")
