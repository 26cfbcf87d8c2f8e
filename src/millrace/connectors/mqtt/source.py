"""A source that subscribes to topics of an MQTT server."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from millrace.common.error_policy import ErrorPolicy, require_error_policy
from millrace.common.errors import JobDefinitionError
from millrace.common.serialization import DeserializationSchema
from millrace.common.source import Boundedness, ReaderContext, Source, SourceReader, SplitEnumerator
from millrace.common.types.batch import Batch, RowBatch
from millrace.connectors.message_queue.acknowledging_reader import AcknowledgingReader, QueueReading
from millrace.connectors.message_queue.queue_client import Delivery
from millrace.connectors.message_queue.queue_enumerator import QueueEnumerator
from millrace.connectors.mqtt.client import MqttSubscriber
from millrace.connectors.mqtt.connection import MqttError, MqttMessage, require_url, shown_url

__all__ = ["MqttSource", "MqttSourceBuilder"]


@dataclass(frozen=True)
class MqttReading:
    """Settings of an MQTT source."""

    url: str = ""
    client_id: str = ""
    topics: tuple[str, ...] = ()
    schema: DeserializationSchema[Any] | None = None
    deserialize: Callable[[MqttMessage], Any] | None = None
    message_id: Callable[[MqttMessage], str] | None = None
    group: str | None = None
    policy: ErrorPolicy = field(default_factory=ErrorPolicy.fail)


class MqttSource(Source[Any]):
    """Reads messages, which are acknowledged when a complete checkpoint covers them; made by
    `MqttSource.builder`.

    Example:
        >>> from millrace.common import SimpleStringSchema
        >>> (
        ...     MqttSource.builder()
        ...     .set_url("mqtt://localhost")
        ...     .set_client_id("plant-monitor")
        ...     .set_topics("sensors/#")
        ...     .set_value_only_deserializer(SimpleStringSchema())
        ...     .build()
        ... )
        MqttSource('sensors/#' at mqtt://localhost)
    """

    def __init__(self, reading: MqttReading) -> None:
        self._reading = reading

    @staticmethod
    def builder() -> MqttSourceBuilder:
        """A builder of a source, without settings."""
        return MqttSourceBuilder()

    def __repr__(self) -> str:
        return f"MqttSource('{', '.join(self._reading.topics)}' at {shown_url(self._reading.url)})"

    @property
    def boundedness(self) -> Boundedness:
        return Boundedness.CONTINUOUS_UNBOUNDED

    @property
    def requires_checkpoints(self) -> bool:
        return True

    def create_enumerator(self) -> SplitEnumerator:
        return QueueEnumerator(single=self._reading.group is None)

    def create_reader(self, context: ReaderContext) -> SourceReader[Any]:
        reading = self._reading
        reads = QueueReading(
            place=f"'{', '.join(reading.topics)}' of MQTT at {shown_url(reading.url)}",
            connect=self._connect,
            deserialize=self._deserialize,
            has_ids=reading.message_id is not None,
            missing_id="has no id, which set_message_id() should return",
            policy=reading.policy,
            kind=MqttError,
        )
        return AcknowledgingReader(reads, context)

    def _connect(self, split_id: str) -> MqttSubscriber:
        reading = self._reading
        if reading.group is None:
            return MqttSubscriber(
                reading.url, reading.client_id, reading.topics, reading.message_id
            )
        topics = [f"$share/{reading.group}/{topic}" for topic in reading.topics]
        number = split_id.rpartition("-")[2]
        return MqttSubscriber(reading.url, f"{reading.client_id}-{number}", topics, None)

    def _deserialize(self, deliveries: Sequence[Delivery]) -> Batch:
        reading = self._reading
        if reading.deserialize is not None:
            return RowBatch([reading.deserialize(delivery.message) for delivery in deliveries])
        assert reading.schema is not None
        return reading.schema.deserialize_flat([delivery.body for delivery in deliveries])[0]


class MqttSourceBuilder:
    """Collects the options of an `MqttSource`."""

    def __init__(self) -> None:
        self._reading = MqttReading()

    def set_url(self, url: str) -> MqttSourceBuilder:
        """Set the server: ``mqtt://user:password@host:1883``, or ``mqtts://`` with TLS.

        Raises:
            JobDefinitionError: the argument is not such a URL.
        """
        return self._with(url=require_url(url))

    def set_client_id(self, client_id: str) -> MqttSourceBuilder:
        """Set the client id of the session, which the server keeps while the job is down. It
        must be unique on the server, and stay the same when the job is resumed."""
        return self._with(client_id=client_id)

    def set_topics(self, *topics: str) -> MqttSourceBuilder:
        """Set the topics, or filters such as ``sensors/+/temperature`` and ``sensors/#``."""
        return self._with(topics=topics)

    def set_value_only_deserializer(self, schema: DeserializationSchema[Any]) -> MqttSourceBuilder:
        """Set the schema of the payload.

        Raises:
            JobDefinitionError: the argument is not a `DeserializationSchema`.
        """
        if not isinstance(schema, DeserializationSchema):
            raise JobDefinitionError(
                f"set_value_only_deserializer() takes a DeserializationSchema, not {schema!r}"
            )
        return self._with(schema=schema, deserialize=None)

    def set_deserializer(self, function: Callable[[MqttMessage], Any]) -> MqttSourceBuilder:
        """Set a function of the whole message; None skips the message."""
        return self._with(deserialize=function, schema=None)

    def set_message_id(self, function: Callable[[MqttMessage], str]) -> MqttSourceBuilder:
        """Set a function that returns a unique id of each message: with it, each message is
        processed exactly once."""
        return self._with(message_id=function)

    def set_shared_group(self, group: str) -> MqttSourceBuilder:
        """Share the messages among all subtasks through a shared subscription."""
        return self._with(group=group)

    def set_error_policy(self, policy: ErrorPolicy) -> MqttSourceBuilder:
        """Set the error policy for messages that cannot be read; by default the job fails.

        Raises:
            JobDefinitionError: the argument is not a policy.
        """
        return self._with(policy=require_error_policy(policy))

    def build(self) -> MqttSource:
        """The source with all settings made so far.

        Raises:
            JobDefinitionError: URL, client id, topics or what reads messages are missing, or a
                shared group is to recognise messages.
        """
        reading = self._reading
        for present, call in (
            (reading.url, "set_url()"),
            (reading.client_id, "set_client_id(), the name of its session"),
            (reading.topics, "set_topics()"),
            (reading.schema or reading.deserialize, "set_value_only_deserializer()"),
        ):
            if not present:
                raise JobDefinitionError(f"an MqttSource needs {call}")
        if reading.group is not None and reading.message_id is not None:
            raise JobDefinitionError(
                "an MqttSource with set_shared_group() cannot have set_message_id(): a "
                "message may be redelivered to a subtask that does not know its id"
            )
        return MqttSource(reading)

    def _with(self, **changes: Any) -> MqttSourceBuilder:
        self._reading = replace(self._reading, **changes)
        return self
