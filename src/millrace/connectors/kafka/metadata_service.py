"""Metadata of streams: their topics and clusters. Flink docs: "Dynamic Kafka Source"; FLIP-246."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from millrace.common.errors import JobDefinitionError
from millrace.connectors.kafka.client import create_consumer, require_properties
from millrace.connectors.kafka.subscription import REQUEST_TIMEOUT_S

__all__ = [
    "ClusterMetadata",
    "KafkaMetadataService",
    "KafkaStream",
    "KafkaStreamSetSubscriber",
    "KafkaStreamSubscriber",
    "SingleClusterTopicMetadataService",
    "StreamPatternSubscriber",
]


@dataclass(frozen=True)
class ClusterMetadata:
    """Topics of a cluster, and the properties to reach it.

    Attributes:
        topics: their names; they must exist.
        properties: properties of clients, with ``bootstrap.servers``; in no checkpoint.
    """

    topics: frozenset[str]
    properties: Mapping[str, str] = field(repr=False)


@dataclass(frozen=True)
class KafkaStream:
    """A stream, whose topics may be on several clusters.

    Attributes:
        stream_id: its name.
        cluster_metadata_map: its topics by the id of their cluster.
    """

    stream_id: str
    cluster_metadata_map: Mapping[str, ClusterMetadata]


class KafkaMetadataService(ABC):
    """Knows the clusters and topics of streams; the driver queries it periodically, and workers do
    at times.

    Must be picklable. Flink: interface ``KafkaMetadataService``.

    Example:
        >>> class Moving(KafkaMetadataService):
        ...     def get_all_streams(self) -> list[KafkaStream]:
        ...         servers = {"bootstrap.servers": "east:9092"}
        ...         east = ClusterMetadata(frozenset({"orders"}), servers)
        ...         return [KafkaStream("orders", {"east": east})]
        >>> [stream.stream_id for stream in Moving().describe_streams({"orders", "others"})]
        ['orders']
    """

    @abstractmethod
    def get_all_streams(self) -> Collection[KafkaStream]:
        """All streams in their current state."""

    def describe_streams(self, stream_ids: Collection[str]) -> Collection[KafkaStream]:
        """These streams in their current state; streams that do not exist are left out."""
        return [stream for stream in self.get_all_streams() if stream.stream_id in stream_ids]


class SingleClusterTopicMetadataService(KafkaMetadataService):
    """Serves each topic of one cluster as a stream of the same name.

    Args:
        kafka_cluster_id: a name for the cluster that stays the same.
        properties: properties of clients, with ``bootstrap.servers``.

    Example:
        >>> properties = {"bootstrap.servers": "localhost:9092"}
        >>> service = SingleClusterTopicMetadataService("main", properties)
    """

    def __init__(self, kafka_cluster_id: str, properties: Mapping[str, str]) -> None:
        self._cluster = kafka_cluster_id
        self._properties = require_properties(properties)
        if "bootstrap.servers" not in self._properties:
            raise JobDefinitionError(f"cluster '{kafka_cluster_id}' needs 'bootstrap.servers'")

    def get_all_streams(self) -> list[KafkaStream]:
        consumer = create_consumer({**self._properties, "group.id": "millrace-metadata"})
        try:
            topics = consumer.list_topics(timeout=REQUEST_TIMEOUT_S).topics
        finally:
            consumer.close()
        return [
            KafkaStream(name, {self._cluster: ClusterMetadata(frozenset([name]), self._properties)})
            for name, topic in topics.items()
            if topic.error is None
        ]


class KafkaStreamSubscriber(ABC):
    """Chooses the streams to read. Must be picklable."""

    @abstractmethod
    def get_subscribed_streams(
        self, kafka_metadata_service: KafkaMetadataService
    ) -> Collection[KafkaStream]:
        """The chosen streams in their current state."""


class KafkaStreamSetSubscriber(KafkaStreamSubscriber):
    """Chooses streams by name."""

    def __init__(self, stream_ids: Collection[str]) -> None:
        named = not isinstance(stream_ids, str) and all(
            isinstance(name, str) for name in stream_ids
        )
        if not stream_ids or not named:
            raise JobDefinitionError(f"set_stream_ids() takes a set of names, not {stream_ids!r}")
        self._stream_ids = frozenset(stream_ids)

    def get_subscribed_streams(
        self, kafka_metadata_service: KafkaMetadataService
    ) -> Collection[KafkaStream]:
        return kafka_metadata_service.describe_streams(self._stream_ids)


class StreamPatternSubscriber(KafkaStreamSubscriber):
    """Chooses streams whose whole name matches a regular expression."""

    def __init__(self, stream_pattern: str) -> None:
        try:
            re.compile(stream_pattern)
        except (TypeError, re.error) as error:
            raise JobDefinitionError(
                f"set_stream_pattern() takes a regular expression, not {stream_pattern!r}: {error}"
            ) from None
        self._pattern = stream_pattern

    def get_subscribed_streams(
        self, kafka_metadata_service: KafkaMetadataService
    ) -> Collection[KafkaStream]:
        pattern = re.compile(self._pattern)
        streams = kafka_metadata_service.get_all_streams()
        return [stream for stream in streams if pattern.fullmatch(stream.stream_id)]
