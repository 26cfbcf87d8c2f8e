"""A sink of Pulsar topics. Flink docs: "Pulsar", Pulsar Sink; FLIP-143."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from millrace.common.config.config_options import ConfigOption
from millrace.common.errors import JobDefinitionError
from millrace.common.serialization import SerializationSchema
from millrace.common.sink import (
    CommitMode,
    Committer,
    CommitterContext,
    DeliveryGuarantee,
    Sink,
    SinkWriter,
    WriterContext,
)
from millrace.common.time.amounts import Duration
from millrace.connectors.pulsar.client import ADMIN_URL, SERVICE_URL, PulsarProperties
from millrace.connectors.pulsar.committer import PulsarCommitter
from millrace.connectors.pulsar.message import PulsarSerializationSchema, require_serialization
from millrace.connectors.pulsar.producers import PRODUCER_PROPERTIES
from millrace.connectors.pulsar.topic_names import full_name
from millrace.connectors.pulsar.topic_router import TopicRouter, TopicRoutingMode
from millrace.connectors.pulsar.writer import PulsarStagingWriter, PulsarWriter, PulsarWriting

__all__ = ["MessageDelayer", "PulsarSink", "PulsarSinkBuilder"]


class MessageDelayer:
    """Delay before consumers receive messages, on subscriptions of the types Shared and Key_Shared.

    Attributes:
        millis: the delay in ms; None for no delay.
    """

    def __init__(self, millis: int | None) -> None:
        self.millis = millis

    @staticmethod
    def never() -> MessageDelayer:
        """Deliver all messages without delay."""
        return MessageDelayer(None)

    @staticmethod
    def fixed(duration: Duration) -> MessageDelayer:
        """The same delay for all messages, counted from the epoch that writes them."""
        return MessageDelayer(duration.to_millis())


class PulsarSink(Sink[Any]):
    """Writes to topics of Pulsar; made by `PulsarSink.builder`.

    Example:
        >>> from millrace.common import SimpleStringSchema
        >>> sink = (
        ...     PulsarSink.builder()
        ...     .set_service_url("pulsar://localhost:6650")
        ...     .set_topics("totals")
        ...     .set_serialization_schema(SimpleStringSchema())
        ...     .set_delivery_guarantee(DeliveryGuarantee.AT_LEAST_ONCE)
        ...     .build()
        ... )
        >>> sink.commit_mode.name
        'IN_BACKGROUND'
    """

    def __init__(self, writing: PulsarWriting) -> None:
        self._writing = writing

    @staticmethod
    def builder() -> PulsarSinkBuilder:
        """A builder of a sink, without settings."""
        return PulsarSinkBuilder()

    @property
    def commit_mode(self) -> CommitMode:
        return CommitMode.IN_BACKGROUND

    @property
    def _exactly_once(self) -> bool:
        return self._writing.guarantee is DeliveryGuarantee.EXACTLY_ONCE

    @property
    def exclusive_id(self) -> str | None:
        return f"producer name '{self._writing.producer_name}'" if self._exactly_once else None

    def create_writer(self, context: WriterContext, state: Any) -> SinkWriter[Any]:
        writer = PulsarStagingWriter if self._exactly_once else PulsarWriter
        return writer(self._writing, context)

    def create_committer(self, context: CommitterContext) -> Committer | None:
        return PulsarCommitter(self._writing) if self._exactly_once else None


class PulsarSinkBuilder:
    """Collects the options of a `PulsarSink`; names as in PyFlink."""

    def __init__(self) -> None:
        self._properties = PulsarProperties()
        self._topics: tuple[str, ...] = ()
        self._schema: Any = None
        self._guarantee = DeliveryGuarantee.NONE
        self._mode = TopicRoutingMode.ROUND_ROBIN
        self._router: TopicRouter | None = None
        self._delay: int | None = None
        self._producer_name: str | None = None

    def set_service_url(self, service_url: str) -> Self:
        """Set the brokers: ``pulsar://host:6650``, with TLS ``pulsar+ssl://host:6651``."""
        return self.set_config(SERVICE_URL, service_url)

    def set_admin_url(self, admin_url: str) -> Self:
        """Set the URL of the brokers' admin interface, such as ``http://host:8080``; needed for
        exactly-once."""
        return self.set_config(ADMIN_URL, admin_url)

    def set_topics(self, topics: str | list[str]) -> Self:
        """Write to the given topics or partitions, which must exist.

        Raises:
            JobDefinitionError: no topic is given.
        """
        names = [topics] if isinstance(topics, str) else topics
        listed = isinstance(names, (list, tuple)) and bool(names)
        if not listed or not all(isinstance(name, str) and name for name in names):
            raise JobDefinitionError(f"set_topics() takes names of topics, not {topics!r}")
        self._topics = tuple(map(full_name, names))
        return self

    def set_producer_name(self, producer_name: str) -> Self:
        """Set the prefix of the names by which the brokers identify the sink's producers, for
        exactly-once. It must be unique on these topics, and stay the same when the job is
        resumed."""
        self._producer_name = producer_name
        return self

    def set_delivery_guarantee(self, delivery_guarantee: DeliveryGuarantee) -> Self:
        """Choose the guarantee; by default none.

        Raises:
            JobDefinitionError: the argument is not a `DeliveryGuarantee`.
        """
        if not isinstance(delivery_guarantee, DeliveryGuarantee):
            raise JobDefinitionError(
                "set_delivery_guarantee() takes a DeliveryGuarantee such as EXACTLY_ONCE, not "
                f"{delivery_guarantee!r}"
            )
        self._guarantee = delivery_guarantee
        return self

    def set_serialization_schema(
        self, serialization_schema: SerializationSchema[Any] | PulsarSerializationSchema[Any]
    ) -> Self:
        """Set the serialization schema: one for the contents of messages, or a
        `PulsarSerializationSchema` for whole messages.

        Raises:
            JobDefinitionError: the argument is neither.
        """
        self._schema = require_serialization(serialization_schema)
        return self

    def set_topic_routing_mode(self, topic_routing_mode: TopicRoutingMode) -> Self:
        """Set the mode in which partitions are chosen; by default in turn.

        Raises:
            JobDefinitionError: the argument is not a `TopicRoutingMode`.
        """
        if not isinstance(topic_routing_mode, TopicRoutingMode):
            raise JobDefinitionError(
                f"set_topic_routing_mode() takes a TopicRoutingMode, not {topic_routing_mode!r}"
            )
        self._mode = topic_routing_mode
        return self

    def set_topic_router(self, topic_router: TopicRouter) -> Self:
        """Set a function that chooses partitions. It takes a message's key (or None) and the full
        names of all partitions, and returns one of the names.

        Raises:
            JobDefinitionError: the argument is not a function.
        """
        if not callable(topic_router):
            raise JobDefinitionError(f"set_topic_router() takes a function, not {topic_router!r}")
        self._router, self._mode = topic_router, TopicRoutingMode.CUSTOM
        return self

    def delay_sending_message(self, message_delayer: MessageDelayer) -> Self:
        """Delay messages for consumers.

        Raises:
            JobDefinitionError: the argument is not a `MessageDelayer`.
        """
        if not isinstance(message_delayer, MessageDelayer):
            raise JobDefinitionError(
                "a delay is a MessageDelayer such as MessageDelayer.fixed(duration), not "
                f"{message_delayer!r}"
            )
        self._delay = message_delayer.millis
        return self

    def set_authentication(
        self, auth_plugin_class_name: str, auth_params_string: str | Mapping[str, str]
    ) -> Self:
        """Set the job's credentials, for example ``AuthenticationToken`` and ``token:...``."""
        self._properties = self._properties.with_authentication(
            auth_plugin_class_name, auth_params_string
        )
        return self

    def set_config(self, key: str | ConfigOption[Any], value: Any) -> Self:
        """Set a property, under its name in Flink, of the client or its producers; with
        exactly-once, only of the client.

        Raises:
            JobDefinitionError: no property has this name.
        """
        return self.set_properties({key: value})

    def set_properties(self, config: Mapping[Any, Any]) -> Self:
        """Set several properties.

        Raises:
            JobDefinitionError: there is none of such a name.
        """
        self._properties = self._properties.with_values(config, PRODUCER_PROPERTIES)
        return self

    def build(self) -> PulsarSink:
        """The sink with all settings made so far.

        Raises:
            JobDefinitionError: something is missing that it needs.
        """
        values, once = self._properties.values, self._guarantee is DeliveryGuarantee.EXACTLY_ONCE
        required = {
            "set_service_url()": SERVICE_URL in values,
            "set_topics()": bool(self._topics),
            "set_serialization_schema()": self._schema is not None,
            "set_topic_router() for CUSTOM": self._mode is not TopicRoutingMode.CUSTOM
            or self._router is not None,
            "set_producer_name() for exactly-once, a name that no other sink on these topics has": (
                not once or bool(self._producer_name)
            ),
            "set_admin_url() for exactly-once": not once or ADMIN_URL in values,
        }
        for call, present in required.items():
            if not present:
                raise JobDefinitionError(f"a PulsarSink needs {call}")
        return PulsarSink(
            PulsarWriting(
                self._topics,
                self._schema,
                self._guarantee,
                self._mode,
                self._router,
                self._delay,
                self._producer_name,
                self._properties,
            )
        )
