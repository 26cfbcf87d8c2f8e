"""A source of Kafka topics. Flink docs: "Kafka", Kafka Source; FLIP-27."""

from __future__ import annotations

import re
import uuid
from collections.abc import Collection
from dataclasses import replace
from functools import partial
from typing import Any, Self, TypeVar

from millrace.common.errors import JobDefinitionError
from millrace.common.source import Boundedness, ReaderContext, Source, SplitEnumerator
from millrace.common.types.result_type_queryable import ResultTypeQueryable
from millrace.common.types.type_information import TypeInformation
from millrace.connectors.kafka.enumerator import KafkaEnumerator
from millrace.connectors.kafka.offset_reset import RESET_OPTION, OffsetReset
from millrace.connectors.kafka.offsets_initializer import KafkaOffsetResetStrategy
from millrace.connectors.kafka.reader import KafkaSourceReader
from millrace.connectors.kafka.reading import (
    CLIENT_ID_PREFIX,
    KafkaReading,
    KafkaReadingBuilder,
)
from millrace.connectors.kafka.subscription import KafkaSubscription
from millrace.connectors.kafka.topic_partition import KafkaTopicPartition
from millrace.connectors.kafka.value_decoder import ValueDecoder

__all__ = ["KafkaSource", "KafkaSourceBuilder"]

T = TypeVar("T")

DISCOVERY_INTERVAL = "partition.discovery.interval.ms"
COMMIT_OFFSETS = "commit.offsets.on.checkpoint"
_SOURCE_OPTIONS = (DISCOVERY_INTERVAL, COMMIT_OFFSETS, CLIENT_ID_PREFIX)
_FIVE_MINUTES = "300000"
_RESET = {
    KafkaOffsetResetStrategy.EARLIEST: "earliest",
    KafkaOffsetResetStrategy.LATEST: "latest",
    KafkaOffsetResetStrategy.NONE: "error",
}
_PREFETCH = {
    "check.crcs": "false",
    "fetch.max.bytes": str(32 << 20),
    "fetch.message.max.bytes": str(4 << 20),
    "fetch.queue.backoff.ms": "5",
    "fetch.wait.max.ms": "100",
    "queued.max.messages.kbytes": str(64 << 10),
    "queued.min.messages": "200000",
}
"""Amount that a consumer fetches ahead, unless properties change it: an epoch takes tens of
thousands of records from one partition at once. By default the client looks only every second
whether there is room again, which is far longer than a full queue lasts."""


class KafkaSource(Source[T]):
    """Reads topics of Kafka, and each partition in order; made by `KafkaSource.builder`.

    A record's event time is its time stamp in Kafka, unless the `WatermarkStrategy` assigns
    another. Positions are in the checkpoints; those committed to the brokers are for monitoring.

    Example:
        >>> from millrace.common import SimpleStringSchema
        >>> source = (
        ...     KafkaSource.builder()
        ...     .set_bootstrap_servers("localhost:9092")
        ...     .set_topics("orders")
        ...     .set_group_id("shop")
        ...     .set_value_only_deserializer(SimpleStringSchema())
        ...     .build()
        ... )
        >>> source.boundedness.name
        'CONTINUOUS_UNBOUNDED'
    """

    def __init__(self, reading: KafkaReading) -> None:
        self._reading = reading

    @staticmethod
    def builder() -> KafkaSourceBuilder[Any]:
        """A builder of a source, without settings."""
        return KafkaSourceBuilder()

    @property
    def boundedness(self) -> Boundedness:
        if self._reading.bounded:
            return Boundedness.BOUNDED
        return Boundedness.CONTINUOUS_UNBOUNDED

    @property
    def supports_available_now(self) -> bool:
        """Always true: an available-now run reads each partition up to its end at the start of
        the run."""
        return True

    def create_enumerator(self) -> SplitEnumerator:
        reading = self._reading
        return KafkaEnumerator(
            self._config("enumerator"),
            reading.subscription,
            reading.starting_offsets,
            reading.stopping_offsets,
            self._discovery_interval(),
            self._topics_to_read(),
        )

    def create_reader(self, context: ReaderContext) -> KafkaSourceReader:
        reading = self._reading
        config = _PREFETCH | self._config(str(context.subtask_index))
        reset = OffsetReset.of(config[RESET_OPTION], RESET_OPTION in reading.properties)
        if reset is not None:  # else the client refuses the value
            config[RESET_OPTION] = "error"
        commits = reading.properties.get(COMMIT_OFFSETS, "true") == "true"
        return KafkaSourceReader(
            config,
            partial(ValueDecoder, reading.schema, reading.error_policy, context),
            commits and "group.id" in reading.properties,
            context,
            reset or OffsetReset("error", is_asked_for=True),
            self._topics_to_read(),
        )

    def _topics_to_read(self) -> tuple[str, ...] | None:
        reading = self._reading
        return reading.subscription.topics if reading.only_subscribed else None

    def of_subscribed_topics(self) -> KafkaSource[T]:
        """A source that leaves out partitions of a checkpoint whose topics are no longer
        subscribed, as Flink 1 does. A topic that is subscribed again is read from its last offset.
        """
        return KafkaSource(replace(self._reading, only_subscribed=True))

    def _discovery_interval(self) -> int | None:
        if self._reading.stopping_offsets is not None:
            return None
        interval = int(self._reading.properties.get(DISCOVERY_INTERVAL, _FIVE_MINUTES))
        return interval if interval > 0 else None

    def _config(self, client: str) -> dict[str, Any]:
        properties = self._reading.properties
        config = {k: v for k, v in properties.items() if k not in _SOURCE_OPTIONS}
        # it never joins the group: partitions are assigned by the enumerator
        config.setdefault("group.id", f"millrace-{uuid.uuid4()}")
        config.setdefault(RESET_OPTION, _RESET[self._reading.starting_offsets.reset])
        reset = OffsetReset.of(config[RESET_OPTION], is_asked_for=True)
        if reset is not None:  # Java's words are not the client's
            config[RESET_OPTION] = reset.policy
        prefix = properties.get(CLIENT_ID_PREFIX, config["group.id"])
        return config | {
            "client.id": f"{prefix}-{client}",
            "enable.auto.commit": "false",
            "enable.auto.offset.store": "false",
            "enable.partition.eof": "true",
        }


class _TypedKafkaSource(KafkaSource[T], ResultTypeQueryable):
    """A source whose schema knows the type of the records."""

    def __init__(self, reading: KafkaReading, produced_type: TypeInformation[Any]) -> None:
        super().__init__(reading)
        self._produced_type = produced_type

    def get_produced_type(self) -> TypeInformation[Any]:
        return self._produced_type


class KafkaSourceBuilder(KafkaReadingBuilder[T]):
    """Collects the options of a `KafkaSource`; names as in PyFlink."""

    def __init__(self) -> None:
        super().__init__()
        self._subscription: KafkaSubscription | None = None

    def set_bootstrap_servers(self, bootstrap_servers: str) -> Self:
        """Set the bootstrap brokers: ``host:port``, several separated by commas."""
        return self.set_property("bootstrap.servers", bootstrap_servers)

    def set_topics(self, *topics: str) -> Self:
        """Read the given topics, which must exist.

        Raises:
            JobDefinitionError: no topic is given, or topics or partitions were chosen before.
        """
        if not topics or not all(isinstance(topic, str) and topic for topic in topics):
            raise JobDefinitionError(f"set_topics() takes names of topics, not {topics!r}")
        return self._subscribe(KafkaSubscription(topics=topics))

    def set_topic_pattern(self, topic_pattern: str) -> Self:
        """Read all topics whose whole name matches a regular expression, including later ones.

        Raises:
            JobDefinitionError: it is not a regular expression, or the subscription was set before.
        """
        try:
            re.compile(topic_pattern)
        except (TypeError, re.error) as error:
            raise JobDefinitionError(
                f"set_topic_pattern() takes a regular expression, not {topic_pattern!r}: {error}"
            ) from None
        return self._subscribe(KafkaSubscription(pattern=topic_pattern))

    def set_partitions(self, partitions: Collection[KafkaTopicPartition]) -> Self:
        """Read the given partitions, which must exist.

        Raises:
            JobDefinitionError: there is none, or what to read was said before.
        """
        if not partitions or not all(isinstance(p, KafkaTopicPartition) for p in partitions):
            raise JobDefinitionError(
                f"set_partitions() takes KafkaTopicPartition(topic, partition), not {partitions!r}"
            )
        return self._subscribe(KafkaSubscription(partitions=tuple(sorted(partitions))))

    def _subscribe(self, subscription: KafkaSubscription) -> Self:
        if self._subscription is not None:
            raise JobDefinitionError(
                "a KafkaSource reads topics, topics by a pattern, or partitions: call one of "
                "set_topics(), set_topic_pattern() and set_partitions(), once"
            )
        self._subscription = subscription
        return self

    def build(self) -> KafkaSource[T]:
        """The source with all settings made so far.

        Raises:
            JobDefinitionError: brokers, what to read, or a schema is missing.
        """
        required = {
            "set_bootstrap_servers()": "bootstrap.servers" in self._properties,
            "set_topics()": self._subscription is not None,
        }
        subscription = self._subscription or KafkaSubscription()
        reading = self._reading("KafkaSource", subscription, required)
        produced = reading.schema.produced_type
        return KafkaSource(reading) if produced is None else _TypedKafkaSource(reading, produced)
