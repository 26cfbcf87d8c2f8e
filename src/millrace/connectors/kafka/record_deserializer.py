"""Conversion of Kafka records to records of a stream. Flink docs: "Kafka", Deserializer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from millrace.common.errors import JobDefinitionError
from millrace.common.serialization import DeserializationSchema, SimpleStringSchema
from millrace.common.types.batch import Batch, RowBatch
from millrace.common.types.result_type_queryable import ResultTypeQueryable
from millrace.common.types.type_information import TypeInformation
from millrace.connectors.kafka.client import KafkaError

__all__ = [
    "KafkaOrigin",
    "KafkaRecord",
    "KafkaRecordDeserializationSchema",
    "SimpleStringValueKafkaRecordDeserializationSchema",
]

T = TypeVar("T")


class KafkaRecord(NamedTuple):
    """A record as stored in Kafka. Kafka: class ``ConsumerRecord``.

    Attributes:
        topic: its topic.
        partition: its partition of that.
        offset: its place in that.
        timestamp: in ms since the epoch.
        key: None if it has none.
        value: None if it is a tombstone.
        headers: names and values, in their order.
    """

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]


class KafkaOrigin(NamedTuple):
    """Origin of a record, for `KafkaSourceBuilder.with_origin`.

    Attributes:
        topic: its topic.
        partition: its partition of that.
        offset: its place in that.
        timestamp: in ms since the epoch.
        key: None if it has none.
        headers: names and values, in their order.
    """

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]


class KafkaRecordDeserializationSchema(ABC, Generic[T]):
    """Reads records from whole Kafka records, including their metadata. Must be picklable.

    Example:
        >>> class KeyedText(KafkaRecordDeserializationSchema[tuple[str, str]]):
        ...     def deserialize(self, record: KafkaRecord) -> tuple[str, str]:
        ...         return record.key.decode(), record.value.decode()
        >>> KeyedText().deserialize(KafkaRecord("words", 0, 7, 0, b"en", b"mill", ()))
        ('en', 'mill')
    """

    @abstractmethod
    def deserialize(self, record: KafkaRecord) -> T | None:
        """The record; None skips the Kafka record."""

    @property
    def produced_type(self) -> TypeInformation[Any] | None:
        """The type of the records, if the schema is a `ResultTypeQueryable`; None if it is
        unknown."""
        return self.get_produced_type() if isinstance(self, ResultTypeQueryable) else None

    def deserialize_messages(self, messages: Sequence[Any]) -> Batch:
        """One record per message, with None for each that is skipped, or columns.

        Args:
            messages: ``confluent_kafka.Message``, none of them an error.
        """
        return RowBatch(list(map(self.deserialize, map(_record, messages))))

    def deserialize_flat(self, messages: Sequence[Any]) -> tuple[Batch, list[int] | None]:
        """The records, and the index of each record's message; None instead of the indexes if each
        message has one record.

        Args:
            messages: ``confluent_kafka.Message``, none of them an error.
        """
        return self.deserialize_messages(messages), None

    @staticmethod
    def value_only(
        deserialization_schema: DeserializationSchema[T],
    ) -> KafkaRecordDeserializationSchema[T]:
        """A schema that reads only the values; records without a value are skipped.

        Raises:
            JobDefinitionError: the argument is not a `DeserializationSchema`.
        """
        return ValueOnlyDeserializationSchema(deserialization_schema)


class ValueOnlyDeserializationSchema(KafkaRecordDeserializationSchema[T]):
    """Reads the values with a schema, all values of a poll in one call."""

    def __init__(self, schema: DeserializationSchema[T]) -> None:
        if not isinstance(schema, DeserializationSchema):
            raise JobDefinitionError(
                f"values are read by a DeserializationSchema such as SimpleStringSchema(), not by "
                f"{schema!r}"
            )
        self.schema = schema

    @property
    def produced_type(self) -> TypeInformation[Any] | None:
        schema = self.schema
        return schema.get_produced_type() if isinstance(schema, ResultTypeQueryable) else None

    def deserialize(self, record: KafkaRecord) -> T | None:
        return None if record.value is None else self.schema.deserialize(record.value)

    def deserialize_flat(self, messages: Sequence[Any]) -> tuple[Batch, list[int] | None]:
        values = list(map(type(messages[0]).value, messages))
        if all(values) or None not in values:
            return self.schema.deserialize_flat(values)
        present = [place for place, value in enumerate(values) if value is not None]
        batch, origins = self.schema.deserialize_flat([values[place] for place in present])
        if origins is None:
            require_one_each(batch, [messages[place] for place in present])
            return batch, present
        return batch, [present[origin] for origin in origins]


class SimpleStringValueKafkaRecordDeserializationSchema(ValueOnlyDeserializationSchema[str]):
    """Reads the values as UTF-8 text."""

    def __init__(self) -> None:
        super().__init__(SimpleStringSchema())


class WithOrigin(KafkaRecordDeserializationSchema[tuple[Any, KafkaOrigin]]):
    """Pairs the records of another schema with their origin."""

    def __init__(self, schema: KafkaRecordDeserializationSchema[Any]) -> None:
        self._schema = schema

    def deserialize(self, record: KafkaRecord) -> tuple[Any, KafkaOrigin] | None:
        raise NotImplementedError  # only whole batches are read

    def deserialize_flat(self, messages: Sequence[Any]) -> tuple[Batch, list[int] | None]:
        batch, origins = self._schema.deserialize_flat(messages)
        if origins is None:
            require_one_each(batch, messages)
        else:
            messages = [messages[origin] for origin in origins]
        return RowBatch(list(_with_origins(batch.to_rows().values, messages))), origins


def require_one_each(batch: Batch, messages: Sequence[Any]) -> None:
    """Check that a schema returned exactly one record for each message.

    Raises:
        KafkaError: there are not.
    """
    if len(batch) != len(messages) and messages:
        raise KafkaError(
            f"deserialize_batch() returned {len(batch)} records for {len(messages)} "
            f"messages of {messages[0].topic()}-{messages[0].partition()}; it must return "
            "one for each message (None leaves the message out), or deserialize_flat() must "
            "tell the message of each record"
        )


def _with_origins(
    values: Sequence[Any], messages: Sequence[Any]
) -> Iterator[tuple[Any, KafkaOrigin] | None]:
    for value, message in zip(values, messages, strict=True):
        topic, partition, offset, timestamp, key, _, headers = _record(message)
        origin = KafkaOrigin(topic, partition, offset, timestamp, key, headers)
        yield None if value is None else (value, origin)


def _record(message: Any) -> KafkaRecord:
    return KafkaRecord(
        message.topic(),
        message.partition(),
        message.offset(),
        message.timestamp()[1],
        message.key(),
        message.value(),
        tuple(message.headers() or ()),
    )
