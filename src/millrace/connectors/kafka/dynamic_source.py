"""A source of streams whose clusters and topics change. Flink docs: "Dynamic Kafka Source"."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, Self, TypeVar

from millrace.common.errors import JobDefinitionError
from millrace.common.source import Boundedness, ReaderContext, Source, SplitEnumerator
from millrace.common.types.result_type_queryable import ResultTypeQueryable
from millrace.common.types.type_information import TypeInformation
from millrace.connectors.kafka.client import KafkaError, require_properties
from millrace.connectors.kafka.dynamic_enumerator import DynamicKafkaEnumerator
from millrace.connectors.kafka.dynamic_reader import DynamicKafkaReader
from millrace.connectors.kafka.metadata_service import (
    ClusterMetadata,
    KafkaMetadataService,
    KafkaStreamSetSubscriber,
    KafkaStreamSubscriber,
    StreamPatternSubscriber,
)
from millrace.connectors.kafka.reader import KafkaSourceReader
from millrace.connectors.kafka.reading import KafkaReading, KafkaReadingBuilder
from millrace.connectors.kafka.source import DISCOVERY_INTERVAL, KafkaSource
from millrace.connectors.kafka.subscription import KafkaSubscription

__all__ = ["DynamicKafkaSource", "DynamicKafkaSourceBuilder"]

T = TypeVar("T")

METADATA_INTERVAL = "stream-metadata-discovery-interval-ms"
FAILURE_THRESHOLD = "stream-metadata-discovery-failure-threshold"
_DYNAMIC_OPTIONS = (METADATA_INTERVAL, FAILURE_THRESHOLD)
_NEVER = str(1 << 50)


class DynamicKafkaSource(Source[T]):
    """Reads streams whose clusters and topics a `KafkaMetadataService` knows, even while they
    change; made by `DynamicKafkaSource.builder`.

    Example:
        >>> from millrace.common import SimpleStringSchema
        >>> from millrace.connectors.kafka import SingleClusterTopicMetadataService
        >>> properties = {"bootstrap.servers": "localhost:9092"}
        >>> source = (
        ...     DynamicKafkaSource.builder()
        ...     .set_stream_ids({"orders"})
        ...     .set_kafka_metadata_service(SingleClusterTopicMetadataService("main", properties))
        ...     .set_value_only_deserializer(SimpleStringSchema())
        ...     .build()
        ... )
    """

    def __init__(
        self,
        reading: KafkaReading,
        subscriber: KafkaStreamSubscriber,
        service: KafkaMetadataService,
    ) -> None:
        options = reading.properties
        bounded = reading.stopping_offsets is not None
        self._interval = -1 if bounded else int(options.get(METADATA_INTERVAL, "-1"))
        self._failures = int(options.get(FAILURE_THRESHOLD, "1"))
        plain = {name: v for name, v in options.items() if name not in _DYNAMIC_OPTIONS}
        if self._interval > 0 and int(plain.get(DISCOVERY_INTERVAL, "1")) <= 0:
            plain[DISCOVERY_INTERVAL] = _NEVER  # but topics that are new to a cluster are looked up
        self._reading = replace(reading, properties=plain)
        self._subscriber = subscriber
        self._service = service

    @staticmethod
    def builder() -> DynamicKafkaSourceBuilder[Any]:
        """A builder of a source, without settings."""
        return DynamicKafkaSourceBuilder()

    @property
    def boundedness(self) -> Boundedness:
        if self._reading.bounded:
            return Boundedness.BOUNDED
        return Boundedness.CONTINUOUS_UNBOUNDED

    @property
    def supports_available_now(self) -> bool:
        """Always true: an available-now run reads the clusters that exist when it begins."""
        return True

    def create_enumerator(self) -> SplitEnumerator:
        return DynamicKafkaEnumerator(
            self._clusters,
            lambda _, cluster: self._source(cluster).create_enumerator(),
            self._interval if self._interval > 0 else None,
            self._failures,
        )

    def create_reader(self, context: ReaderContext) -> DynamicKafkaReader:
        return DynamicKafkaReader(self._reader, context)

    def _reader(self, cluster: str, context: ReaderContext) -> KafkaSourceReader | None:
        metadata = self._clusters().get(cluster)
        return None if metadata is None else self._source(metadata).create_reader(context)

    def _clusters(self) -> dict[str, ClusterMetadata]:
        """Topics of all streams, by cluster."""
        clusters: dict[str, ClusterMetadata] = {}
        for stream in self._subscriber.get_subscribed_streams(self._service):
            for name, cluster in stream.cluster_metadata_map.items():
                properties = require_properties(cluster.properties)
                if "bootstrap.servers" not in properties:
                    raise KafkaError(
                        f"cluster '{name}' of stream '{stream.stream_id}' has no "
                        "'bootstrap.servers' in its properties"
                    )
                topics = frozenset(cluster.topics)
                known = clusters.get(name)
                topics |= known.topics if known is not None else frozenset()
                clusters[name] = ClusterMetadata(topics, properties)
        return clusters

    def _source(self, cluster: ClusterMetadata) -> KafkaSource[T]:
        reading = replace(
            self._reading,
            subscription=KafkaSubscription(topics=tuple(sorted(cluster.topics))),
            properties={**self._reading.properties, **cluster.properties},
        )
        return KafkaSource(reading)


class _TypedDynamicKafkaSource(DynamicKafkaSource[T], ResultTypeQueryable):
    """A source whose schema knows the type of the records."""

    def get_produced_type(self) -> TypeInformation[Any]:
        produced = self._reading.schema.produced_type
        assert produced is not None
        return produced


class DynamicKafkaSourceBuilder(KafkaReadingBuilder[T]):
    """Collects the options of a `DynamicKafkaSource`; names as in PyFlink."""

    def __init__(self) -> None:
        super().__init__()
        self._subscriber: KafkaStreamSubscriber | None = None
        self._service: KafkaMetadataService | None = None

    def set_stream_ids(self, stream_ids: Collection[str]) -> Self:
        """Read the given streams.

        Raises:
            JobDefinitionError: no stream is given.
        """
        return self.set_kafka_stream_subscriber(KafkaStreamSetSubscriber(stream_ids))

    def set_stream_pattern(self, stream_pattern: str) -> Self:
        """Read all streams whose whole name matches a regular expression, including later ones.

        Raises:
            JobDefinitionError: the pattern is not a regular expression.
        """
        return self.set_kafka_stream_subscriber(StreamPatternSubscriber(stream_pattern))

    def set_kafka_stream_subscriber(self, kafka_stream_subscriber: KafkaStreamSubscriber) -> Self:
        """Read the streams that a subscriber chooses.

        Raises:
            JobDefinitionError: it is none, or what to read was said before.
        """
        if not isinstance(kafka_stream_subscriber, KafkaStreamSubscriber):
            raise JobDefinitionError(
                "set_kafka_stream_subscriber() takes a KafkaStreamSubscriber, not "
                f"{kafka_stream_subscriber!r}"
            )
        if self._subscriber is not None:
            raise JobDefinitionError(
                "call one of set_stream_ids(), set_stream_pattern() and "
                "set_kafka_stream_subscriber(), once"
            )
        self._subscriber = kafka_stream_subscriber
        return self

    def set_kafka_metadata_service(self, kafka_metadata_service: KafkaMetadataService) -> Self:
        """Set the service that knows the clusters and topics of streams.

        Raises:
            JobDefinitionError: the argument is not a `KafkaMetadataService`.
        """
        if not isinstance(kafka_metadata_service, KafkaMetadataService):
            raise JobDefinitionError(
                "set_kafka_metadata_service() takes a KafkaMetadataService, not "
                f"{kafka_metadata_service!r}"
            )
        self._service = kafka_metadata_service
        return self

    def set_properties(self, props: Mapping[str, str]) -> Self:
        """Set properties of the consumers of all clusters, as for a `KafkaSourceBuilder`, and also:

        ``stream-metadata-discovery-interval-ms`` (default -1: only at the start) and
        ``stream-metadata-discovery-failure-threshold`` (default 1: so many looks in a row may fail
        before the job does).
        """
        return super().set_properties(props)

    def build(self) -> DynamicKafkaSource[T]:
        """The source with all settings made so far.

        Raises:
            JobDefinitionError: streams, their service, or a schema is missing.
        """
        required = {
            "set_stream_ids()": self._subscriber is not None,
            "set_kafka_metadata_service()": self._service is not None,
        }
        reading = self._reading("DynamicKafkaSource", KafkaSubscription(), required)
        assert self._subscriber is not None
        assert self._service is not None
        typed = reading.schema.produced_type is not None
        kind = _TypedDynamicKafkaSource if typed else DynamicKafkaSource
        return kind(reading, self._subscriber, self._service)
