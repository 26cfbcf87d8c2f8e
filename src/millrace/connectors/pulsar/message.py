"""Conversion of records of a stream to Pulsar messages. Flink docs: "Pulsar", Serializer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from millrace.common.errors import JobDefinitionError, SerializationError
from millrace.common.serialization import SerializationSchema
from millrace.common.time.watermark_generator import MAX_WATERMARK
from millrace.common.types.batch import RowBatch

__all__ = ["Outgoing", "PulsarMessage", "PulsarSerializationSchema", "outgoing"]

T = TypeVar("T")

Outgoing = dict[str, list[dict[str, Any]]]
"""Per partition, what ``pulsar.Producer.send_async`` takes for each message."""


@dataclass(frozen=True)
class PulsarMessage:
    """A message to be sent.

    Attributes:
        data: its content; None for a tombstone.
        key: chooses the partition, for `TopicRoutingMode.MESSAGE_KEY_HASH`, and what compaction
            keeps.
        ordering_key: for subscriptions of the type Key_Shared.
        event_time: event time in ms since 1970; None for that of the record, if it has one.
        properties: names and texts.
    """

    data: bytes | None
    key: str | None = None
    ordering_key: str | None = None
    event_time: int | None = None
    properties: Mapping[str, str] = field(default_factory=dict)


class PulsarSerializationSchema(ABC, Generic[T]):
    """Makes whole messages: key, event time and properties besides the content. Must be picklable.

    Example:
        >>> class Keyed(PulsarSerializationSchema[tuple[str, str]]):
        ...     def serialize(self, record: tuple[str, str]) -> PulsarMessage:
        ...         return PulsarMessage(record[1].encode(), key=record[0])
        >>> Keyed().serialize(("en", "mill")).key
        'en'
    """

    @abstractmethod
    def serialize(self, record: T) -> PulsarMessage:
        """A record as a message for Pulsar."""


def outgoing(
    batch: RowBatch[Any],
    schema: SerializationSchema[Any] | PulsarSerializationSchema[Any],
    route: Callable[[str | None], str],
    deliver_at: int | None,
) -> Outgoing:
    """Messages of a batch, by partition.

    Args:
        route: function from a message's key to the full name of a partition.
        deliver_at: time of delivery to consumers, in ms since 1970.

    Raises:
        SerializationError: a schema has made no message of a record.
    """
    by_partition: Outgoing = {}
    times: Sequence[int | None] = batch.timestamps or [None] * len(batch.values)
    if isinstance(schema, PulsarSerializationSchema):
        messages = list(map(schema.serialize, batch.values))
    else:
        messages = [PulsarMessage(data) for data in schema.serialize_batch(batch.values)]
    for message, value, time in zip(messages, batch.values, times, strict=True):
        if not isinstance(message, PulsarMessage):
            raise SerializationError(
                f"{value!r} was converted to {message!r}, not to a PulsarMessage"
            )
        fields: dict[str, Any] = {"content": message.data}
        event_time = time if message.event_time is None else message.event_time
        if event_time is not None and 0 < event_time < MAX_WATERMARK:
            fields["event_timestamp"] = event_time
        if message.key:
            fields["partition_key"] = message.key
        if message.ordering_key:
            fields["ordering_key"] = message.ordering_key
        if message.properties:
            fields["properties"] = dict(message.properties)
        if deliver_at is not None:
            fields["deliver_at"] = deliver_at
        by_partition.setdefault(route(message.key), []).append(fields)
    return by_partition


def require_serialization(schema: Any) -> Any:
    """The schema itself, after a check.

    Raises:
        JobDefinitionError: it is none.
    """
    if not isinstance(schema, (SerializationSchema, PulsarSerializationSchema)):
        raise JobDefinitionError(
            "a PulsarSink needs a SerializationSchema such as SimpleStringSchema(), or a "
            f"PulsarSerializationSchema, not {schema!r}"
        )
    return schema
