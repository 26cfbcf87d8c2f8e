"""Conversion of Pulsar messages to records of a stream. Flink docs: "Pulsar", Deserializer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from millrace.common.error_policy import ErrorPolicy
from millrace.common.errors import JobDefinitionError
from millrace.common.serialization import DeserializationSchema
from millrace.common.source import ReaderContext
from millrace.common.types.batch import Batch, RowBatch
from millrace.connectors.malformed_records import MalformedRecords
from millrace.connectors.pulsar.client import PulsarError
from millrace.connectors.pulsar.message_position import MessagePosition
from millrace.connectors.record_decoding import decode_around, with_times
from millrace.formats.malformed_record import MalformedRecordError, as_malformed, shown_bytes

__all__ = ["PulsarDeserializationSchema", "PulsarRecord", "MessageDecoder"]

T = TypeVar("T")


class PulsarRecord(NamedTuple):
    """A message as stored in Pulsar.

    Attributes:
        topic: the full name of its partition.
        position: its place in that.
        key: "" if it has none.
        ordering_key: "" if it has none.
        publish_time: time of publication in ms since 1970.
        event_time: event time in ms since 1970; 0 if the message has none.
        properties: names and texts.
        data: its content; None if it is a tombstone.
    """

    topic: str
    position: MessagePosition
    key: str
    ordering_key: str
    publish_time: int
    event_time: int
    properties: Mapping[str, str]
    data: bytes | None


class PulsarDeserializationSchema(ABC, Generic[T]):
    """Reads whole messages: key, times and properties besides the content. Must be picklable.

    Example:
        >>> class Keyed(PulsarDeserializationSchema[tuple[str, str]]):
        ...     def deserialize(self, record: PulsarRecord) -> tuple[str, str]:
        ...         return record.key, record.data.decode()
        >>> place = MessagePosition(3, 0)
        >>> Keyed().deserialize(PulsarRecord("words", place, "en", "", 0, 0, {}, b"mill"))
        ('en', 'mill')
    """

    @abstractmethod
    def deserialize(self, record: PulsarRecord) -> T | None:
        """The record; None skips the message."""


class MessageDecoder:
    """Reads the messages of one partition with their event times, or else their publish times.

    Args:
        topic: the full name of the partition.
    """

    def __init__(
        self,
        schema: DeserializationSchema[Any] | PulsarDeserializationSchema[Any],
        policy: ErrorPolicy,
        context: ReaderContext,
        topic: str,
    ) -> None:
        self._schema = schema
        self._topic = topic
        self._malformed = None if policy.fails else MalformedRecords(policy, context, topic)

    def decode(self, messages: Sequence[Any]) -> Iterator[Batch]:
        """Records in order, in one batch, or in several batches around unreadable records.

        Raises:
            PulsarError: one cannot be read, and the error policy is to fail.
        """
        if not isinstance(self._schema, PulsarDeserializationSchema):
            messages = [message for message in messages if not message.has_null_value()]
        for _, batch in decode_around(messages, self._batch, self._give_up):
            yield batch

    def _batch(self, messages: Sequence[Any]) -> Batch:
        times = [m.event_timestamp() or m.publish_timestamp() for m in messages]
        schema = self._schema
        if isinstance(schema, PulsarDeserializationSchema):
            records = (_record(self._topic, message) for message in messages)
            return with_times(RowBatch(list(map(schema.deserialize, records))), times)
        batch, origins = schema.deserialize_flat([message.data() for message in messages])
        if origins is not None:
            times = [times[origin] for origin in origins]
        return with_times(batch, times)

    def _give_up(self, message: Any, error: Exception) -> None:
        malformed, raw = as_malformed(error), message.data()
        if self._malformed is None:
            raise PulsarError(
                f"the message {message.message_id()} of {self._topic} cannot be read: "
                f"{malformed.reason}: {shown_bytes(raw)}; to skip such messages, use "
                "set_error_policy(ErrorPolicy.skip()) or side_output()"
            ) from error
        self._malformed.take(
            MalformedRecordError(malformed.reason, raw, None, None, malformed.column)
        )


def _record(topic: str, message: Any) -> PulsarRecord:
    return PulsarRecord(
        topic,
        MessagePosition.of(message.message_id()),
        message.partition_key(),
        message.ordering_key(),
        message.publish_timestamp(),
        message.event_timestamp(),
        message.properties(),
        None if message.has_null_value() else message.data(),
    )


def require_schema(schema: Any) -> Any:
    """The schema itself, after a check.

    Raises:
        JobDefinitionError: it is none.
    """
    if not isinstance(schema, (DeserializationSchema, PulsarDeserializationSchema)):
        raise JobDefinitionError(
            "a PulsarSource needs a DeserializationSchema such as SimpleStringSchema(), or a "
            f"PulsarDeserializationSchema, not {schema!r}"
        )
    return schema
