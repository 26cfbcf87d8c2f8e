"""A sink that publishes to topics of an MQTT server."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from millrace.common.errors import JobDefinitionError
from millrace.common.serialization import SerializationSchema
from millrace.common.sink import Sink, SinkWriter, WriterContext, WriterEpoch
from millrace.common.types.batch import RowBatch
from millrace.connectors.mqtt.connection import MqttConnection, MqttError, require_url, shown_url

__all__ = ["MqttSink", "MqttSinkBuilder"]

_PATIENCE_S = 60.0


@dataclass(frozen=True)
class MqttWriting:
    """Settings of an MQTT sink."""

    url: str = ""
    topic: Callable[[Any], str] | str | None = None
    schema: SerializationSchema[Any] | None = None
    retain: bool = False


class MqttSink(Sink[Any]):
    """Publishes records with quality of service 1, at least once: an epoch ends when the server has
    acknowledged them; made by `MqttSink.builder`.

    Example:
        >>> from millrace.common import SimpleStringSchema
        >>> (
        ...     MqttSink.builder()
        ...     .set_url("mqtt://localhost")
        ...     .set_topic(lambda alert: f"alerts/{alert.split()[0]}")
        ...     .set_value_serialization_schema(SimpleStringSchema())
        ...     .build()
        ... )
        MqttSink(mqtt://localhost)
    """

    def __init__(self, writing: MqttWriting) -> None:
        self._writing = writing

    @staticmethod
    def builder() -> MqttSinkBuilder:
        """A builder of a sink, without settings."""
        return MqttSinkBuilder()

    def __repr__(self) -> str:
        return f"MqttSink({shown_url(self._writing.url)})"

    def create_writer(self, context: WriterContext, state: Any) -> SinkWriter[Any]:
        return MqttWriter(self._writing)


class _Publisher:
    """A connection and its messages that the server has not acknowledged."""

    def __init__(self, url: str) -> None:
        self.failure = ""
        self.place = shown_url(url)
        self.waiting: list[Any] = []
        self._connection = MqttConnection(url, "", False, self._on_lost)
        self._connection.client.on_publish = self._on_answered

    def _on_lost(self, reason: str) -> None:
        self.failure = reason

    def _on_answered(self, _: Any, __: Any, mid: int, reason: Any, ___: Any) -> None:
        """Handle the server's response to a message: it was stored, or refused with a reason."""
        if reason.is_failure:
            self.failure = f"the server refuses a message: {reason}"

    def publish(self, topic: str, payload: bytes, retain: bool) -> None:
        self.waiting.append(self._connection.client.publish(topic, payload, 1, retain))

    def wait(self) -> None:
        """Wait until the server has acknowledged all messages.

        Raises:
            MqttError: the connection is lost, or the server does not answer.
        """
        for info in self.waiting:
            waited = 0.0
            while not self.failure and not info.is_published():
                if waited >= _PATIENCE_S:
                    self.failure = "it does not acknowledge published messages"
                info.wait_for_publish(0.1)
                waited += 0.1
        self.waiting = []
        if self.failure:
            raise MqttError(f"cannot publish to MQTT at {self.place}: {self.failure}")

    def close(self) -> None:
        self._connection.close()


class MqttWriter(SinkWriter[Any]):
    """Publishes records as they are written."""

    def __init__(self, writing: MqttWriting) -> None:
        self._writing = writing
        self._publisher = _Publisher(writing.url)

    def begin_epoch(self, epoch: WriterEpoch) -> None:
        """Reconnect if the connection was lost while no message was outstanding."""
        if self._publisher.failure:
            self._publisher.close()
            self._publisher = _Publisher(self._writing.url)

    def write(self, batch: RowBatch[Any]) -> None:
        """Publish a batch.

        Raises:
            MqttError: a topic is none to publish to.
        """
        writing, publish = self._writing, self._publisher.publish
        assert writing.schema is not None
        payloads = writing.schema.serialize_batch(batch.values)
        topic = writing.topic
        for value, payload in zip(batch.values, payloads, strict=True):
            chosen = topic(value) if callable(topic) else topic
            try:
                publish(chosen, payload, writing.retain)  # type: ignore[arg-type]
            except (TypeError, ValueError) as error:
                raise MqttError(f"cannot publish to topic {chosen!r}: {error}") from error

    def flush(self, end_of_input: bool) -> None:
        """Wait until the server has acknowledged the epoch's messages.

        Raises:
            MqttError: the connection is lost.
        """
        self._publisher.wait()

    def close(self) -> None:
        self._publisher.close()


class MqttSinkBuilder:
    """Collects the options of an `MqttSink`."""

    def __init__(self) -> None:
        self._writing = MqttWriting()

    def set_url(self, url: str) -> MqttSinkBuilder:
        """Set the server: ``mqtt://user:password@host:1883``, or ``mqtts://`` with TLS.

        Raises:
            JobDefinitionError: the argument is not such a URL.
        """
        return self._with(url=require_url(url))

    def set_topic(self, topic: str | Callable[[Any], str]) -> MqttSinkBuilder:
        """Set the topic, or a function of the record."""
        return self._with(topic=topic)

    def set_value_serialization_schema(self, schema: SerializationSchema[Any]) -> MqttSinkBuilder:
        """Set the schema of the payload.

        Raises:
            JobDefinitionError: the argument is not a `SerializationSchema`.
        """
        if not isinstance(schema, SerializationSchema):
            raise JobDefinitionError(
                f"set_value_serialization_schema() takes a SerializationSchema, not {schema!r}"
            )
        return self._with(schema=schema)

    def set_retain(self, retain: bool) -> MqttSinkBuilder:
        """Have the server retain the last message of each topic for later subscribers."""
        return self._with(retain=bool(retain))

    def build(self) -> MqttSink:
        """The sink with all settings made so far.

        Raises:
            JobDefinitionError: URL, topic or what makes payloads are missing.
        """
        writing = self._writing
        for present, call in (
            (writing.url, "set_url()"),
            (writing.topic, "set_topic()"),
            (writing.schema, "set_value_serialization_schema()"),
        ):
            if not present:
                raise JobDefinitionError(f"an MqttSink needs {call}")
        return MqttSink(writing)

    def _with(self, **changes: Any) -> MqttSinkBuilder:
        self._writing = replace(self._writing, **changes)
        return self
