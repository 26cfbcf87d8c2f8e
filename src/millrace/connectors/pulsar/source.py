"""A source of Pulsar topics. Flink docs: "Pulsar", Pulsar Source; FLIP-27."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

from millrace.common.config.config_options import ConfigOption
from millrace.common.error_policy import ErrorPolicy, require_error_policy
from millrace.common.errors import JobDefinitionError
from millrace.common.serialization import DeserializationSchema
from millrace.common.source import Boundedness, ReaderContext, Source, SplitEnumerator
from millrace.common.types.result_type_queryable import ResultTypeQueryable
from millrace.common.types.type_information import TypeInformation
from millrace.connectors.pulsar.client import (
    ADMIN_URL,
    CONSUMER_NAME,
    SERVICE_URL,
    PulsarProperties,
)
from millrace.connectors.pulsar.cursor import StartCursor, StopCursor
from millrace.connectors.pulsar.enumerator import PulsarEnumerator
from millrace.connectors.pulsar.reader import PulsarReader
from millrace.connectors.pulsar.record_deserializer import (
    MessageDecoder,
    PulsarDeserializationSchema,
    require_schema,
)
from millrace.connectors.pulsar.topic_names import TopicNames, full_name

__all__ = ["PulsarSource", "PulsarSourceBuilder"]

T = TypeVar("T")

DISCOVERY_INTERVAL = "pulsar.source.partitionDiscoveryIntervalMs"
QUEUE = "pulsar.consumer.receiverQueueSize"
SUBSCRIPTION = "pulsar.consumer.subscriptionName"
_WITHOUT_EFFECT = (
    "pulsar.source.enableAutoAcknowledgeMessage",
    "pulsar.source.autoCommitCursorInterval",
    "pulsar.source.maxFetchTime",
    "pulsar.source.maxFetchRecords",
    "pulsar.source.fetchOneMessageTime",
    "pulsar.source.enableMetrics",
)
"""The subscription moves with each complete checkpoint, epochs say how much is fetched, and metrics
are always there."""
_OWN = (DISCOVERY_INTERVAL, QUEUE, SUBSCRIPTION, CONSUMER_NAME, *_WITHOUT_EFFECT)
_FIVE_MINUTES = 300_000
_FETCHED_AHEAD = 5_000


@dataclass(frozen=True)
class PulsarReading:
    """Settings of a Pulsar source."""

    topics: TopicNames
    schema: DeserializationSchema[Any] | PulsarDeserializationSchema[Any]
    start: StartCursor
    stop: StopCursor
    bounded: bool
    properties: PulsarProperties
    error_policy: ErrorPolicy


class PulsarSource(Source[T]):
    """Reads topics of Pulsar, and each partition in order; made by `PulsarSource.builder`.

    A record's event time is that of its message or, if it has none, the time at which it was
    published, unless the `WatermarkStrategy` assigns another. Positions are in the checkpoints; the
    subscription has the brokers keep what no complete checkpoint has.

    Example:
        >>> from millrace.common import SimpleStringSchema
        >>> source = (
        ...     PulsarSource.builder()
        ...     .set_service_url("pulsar://localhost:6650")
        ...     .set_topics("orders")
        ...     .set_subscription_name("shop")
        ...     .set_deserialization_schema(SimpleStringSchema())
        ...     .build()
        ... )
        >>> source.boundedness.name
        'CONTINUOUS_UNBOUNDED'
    """

    def __init__(self, reading: PulsarReading) -> None:
        self._reading = reading

    @staticmethod
    def builder() -> PulsarSourceBuilder[Any]:
        """A builder of a source, without settings."""
        return PulsarSourceBuilder()

    @property
    def boundedness(self) -> Boundedness:
        if self._reading.bounded:
            return Boundedness.BOUNDED
        return Boundedness.CONTINUOUS_UNBOUNDED

    @property
    def acknowledges_records(self) -> bool:
        """Always true: brokers delete acknowledged messages, unless they are retained."""
        return True

    @property
    def supports_available_now(self) -> bool:
        """Always true: an available-now run reads each partition up to its end at the start of
        the run."""
        return True

    def create_enumerator(self) -> SplitEnumerator:
        reading = self._reading
        properties = reading.properties
        interval: int | None = properties.number(DISCOVERY_INTERVAL, _FIVE_MINUTES)
        if reading.bounded or (interval or 0) <= 0:
            interval = None
        return PulsarEnumerator(
            properties,
            reading.topics,
            properties.values[SUBSCRIPTION],
            reading.start,
            reading.stop,
            interval,
        )

    def create_reader(self, context: ReaderContext) -> PulsarReader:
        reading = self._reading
        decoder = partial(MessageDecoder, reading.schema, reading.error_policy, context)
        queue = reading.properties.number(QUEUE, _FETCHED_AHEAD)
        return PulsarReader(reading.properties, decoder, reading.stop, queue, context)


class _TypedPulsarSource(PulsarSource[T], ResultTypeQueryable):
    """A source whose schema knows the type of the records."""

    def get_produced_type(self) -> TypeInformation[Any]:
        schema = self._reading.schema
        assert isinstance(schema, ResultTypeQueryable)
        return schema.get_produced_type()


class PulsarSourceBuilder(Generic[T]):
    """Collects the options of a `PulsarSource`; names as in PyFlink."""

    def __init__(self) -> None:
        self._properties = PulsarProperties()
        self._topics: TopicNames | None = None
        self._schema: Any = None
        self._start = StartCursor()
        self._stop = StopCursor()
        self._bounded = False
        self._error_policy = ErrorPolicy.fail()

    def set_service_url(self, service_url: str) -> PulsarSourceBuilder[T]:
        """Set the brokers: ``pulsar://host:6650``, with TLS ``pulsar+ssl://host:6651``."""
        return self.set_config(SERVICE_URL, service_url)

    def set_admin_url(self, admin_url: str) -> PulsarSourceBuilder[T]:
        """Set the URL of the brokers' admin interface, such as ``http://host:8080``; needed for
        patterns."""
        return self.set_config(ADMIN_URL, admin_url)

    def set_subscription_name(self, subscription_name: str) -> PulsarSourceBuilder[T]:
        """Set the subscription, for which the brokers keep messages that the job has not read;
        no other job may have it."""
        return self.set_config(SUBSCRIPTION, subscription_name)

    def set_consumer_name(self, consumer_name: str) -> PulsarSourceBuilder[T]:
        """Set the consumer name that the brokers' admin interface shows for the subscription."""
        return self.set_config(CONSUMER_NAME, consumer_name)

    def set_topics(self, topics: str | list[str]) -> PulsarSourceBuilder[T]:
        """Read the given topics or partitions; ``orders`` is
        ``persistent://public/default/orders``.

        Raises:
            JobDefinitionError: no topic is given, or topics were chosen before.
        """
        names = [topics] if isinstance(topics, str) else topics
        listed = isinstance(names, (list, tuple)) and bool(names)
        if not listed or not all(isinstance(name, str) and name for name in names):
            raise JobDefinitionError(f"set_topics() takes names of topics, not {topics!r}")
        return self._read(TopicNames(names=tuple(map(full_name, names))))

    def set_topic_pattern(self, topic_pattern: str) -> PulsarSourceBuilder[T]:
        """Read all topics of a namespace whose whole name matches a regular expression, including
        later ones; the namespace itself may not be a pattern.

        Raises:
            JobDefinitionError: it is not a regular expression, or topics were chosen before.
        """
        try:
            re.compile(topic_pattern)
        except (TypeError, re.error) as error:
            raise JobDefinitionError(
                f"set_topic_pattern() takes a regular expression, not {topic_pattern!r}: {error}"
            ) from None
        return self._read(TopicNames(pattern=topic_pattern))

    def _read(self, topics: TopicNames) -> PulsarSourceBuilder[T]:
        if self._topics is not None:
            raise JobDefinitionError(
                "a PulsarSource reads topics, or topics by a pattern: call one of set_topics() "
                "and set_topic_pattern(), once"
            )
        self._topics = topics
        return self

    def set_start_cursor(self, start_cursor: StartCursor) -> PulsarSourceBuilder[T]:
        """Set the start position of a job that is not resumed from a checkpoint; by default the
        earliest message. Partitions that appear later are read from their first message.

        Raises:
            JobDefinitionError: the argument is not a `StartCursor`.
        """
        if not isinstance(start_cursor, StartCursor):
            raise JobDefinitionError(
                f"set_start_cursor() takes a StartCursor such as latest(), not {start_cursor!r}"
            )
        self._start = start_cursor
        return self

    def set_unbounded_stop_cursor(self, stop_cursor: StopCursor) -> PulsarSourceBuilder[T]:
        """End at this position, in a job that runs as a stream until then.

        Raises:
            JobDefinitionError: the argument is not a `StopCursor`.
        """
        if not isinstance(stop_cursor, StopCursor):
            raise JobDefinitionError(
                f"the end must be a StopCursor such as latest(), not {stop_cursor!r}"
            )
        self._stop, self._bounded = stop_cursor, False
        return self

    def set_bounded_stop_cursor(self, stop_cursor: StopCursor) -> PulsarSourceBuilder[T]:
        """End at this position; the source is bounded.

        Raises:
            JobDefinitionError: the argument is not a `StopCursor`.
        """
        self.set_unbounded_stop_cursor(stop_cursor)
        self._bounded = True
        return self

    def set_deserialization_schema(
        self, deserialization_schema: DeserializationSchema[Any] | PulsarDeserializationSchema[Any]
    ) -> PulsarSourceBuilder[T]:
        """Set the deserialization schema: one for the contents of messages, or a
        `PulsarDeserializationSchema` for whole messages.

        Raises:
            JobDefinitionError: the argument is neither.
        """
        self._schema = require_schema(deserialization_schema)
        return self

    def set_authentication(
        self, auth_plugin_class_name: str, auth_params_string: str | Mapping[str, str]
    ) -> PulsarSourceBuilder[T]:
        """Set the job's credentials, for example ``AuthenticationToken`` and ``token:...``."""
        self._properties = self._properties.with_authentication(
            auth_plugin_class_name, auth_params_string
        )
        return self

    def set_config(self, key: str | ConfigOption[Any], value: Any) -> PulsarSourceBuilder[T]:
        """Set a property with Flink's name, such as ``pulsar.source.partitionDiscoveryIntervalMs``
        (default 300000; 0 or less means never).

        Raises:
            JobDefinitionError: there is none of that name.
        """
        return self.set_properties({key: value})

    set_property = set_config

    def set_properties(self, config: Mapping[Any, Any]) -> PulsarSourceBuilder[T]:
        """Set several properties.

        Raises:
            JobDefinitionError: there is none of such a name.
        """
        self._properties = self._properties.with_values(config, _OWN)
        return self

    set_config_with_dict = set_properties

    def set_error_policy(self, error_policy: ErrorPolicy) -> PulsarSourceBuilder[T]:
        """Choose the error policy for messages that cannot be read.

        Raises:
            JobDefinitionError: the argument is not an `ErrorPolicy`.
        """
        self._error_policy = require_error_policy(error_policy)
        return self

    def build(self) -> PulsarSource[T]:
        """The source with all settings made so far.

        Raises:
            JobDefinitionError: the brokers, what to read, a subscription or a schema is missing.
        """
        values = self._properties.values
        pattern = self._topics is not None and self._topics.pattern is not None
        required = {
            "set_service_url()": SERVICE_URL in values,
            "set_topics()": self._topics is not None,
            "set_subscription_name()": SUBSCRIPTION in values,
            "set_deserialization_schema()": self._schema is not None,
            "set_admin_url() for set_topic_pattern()": not pattern or ADMIN_URL in values,
        }
        for call, present in required.items():
            if not present:
                raise JobDefinitionError(f"a PulsarSource needs {call}")
        assert self._topics is not None
        reading = PulsarReading(
            self._topics,
            self._schema,
            self._start,
            self._stop,
            self._bounded,
            self._properties,
            self._error_policy,
        )
        typed = isinstance(self._schema, ResultTypeQueryable)
        return _TypedPulsarSource(reading) if typed else PulsarSource(reading)
