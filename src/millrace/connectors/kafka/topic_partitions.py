"""Partitions of a topic, for a sink whose program chooses the partition of each record."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from millrace.connectors.kafka.client import (
    KafkaError,
    client_config,
    create_admin,
    import_confluent_kafka,
)

__all__ = ["TopicPartitions"]

_TIMEOUT_S = 30.0
_FRESH_S = 300.0
"""Age up to which metadata of topics is used; the client itself keeps it as long."""


class TopicPartitions:
    """Requests the partitions from the brokers, at most every five minutes for each topic.

    Args:
        config: configuration of a client.
    """

    def __init__(self, config: Mapping[str, Any]) -> None:
        self._config = client_config(config)
        self._admin: Any = None
        self._known: dict[str, tuple[float, list[int]]] = {}

    def of(self, topic: str) -> list[int]:
        """Numbers of a topic's partitions.

        Raises:
            KafkaError: there is no such topic, or the brokers do not answer.
        """
        asked, partitions = self._known.get(topic, (0.0, []))
        now = time.monotonic()
        if not partitions or now - asked > _FRESH_S:
            partitions = self._ask(topic)
            self._known[topic] = now, partitions
        return partitions

    def _ask(self, topic: str) -> list[int]:
        kafka = import_confluent_kafka()
        if self._admin is None:
            self._admin = create_admin(self._config)
        try:
            metadata = self._admin.list_topics(topic, timeout=_TIMEOUT_S).topics[topic]
            if metadata.error is not None:
                raise kafka.KafkaException(metadata.error)
        except kafka.KafkaException as error:
            raise KafkaError(
                f"the partitions of topic '{topic}' are not known: {error.args[0].str()}"
            ) from error
        return sorted(metadata.partitions)
