"""Conversion of records of a stream to Kafka records. Flink docs: "Kafka", Serializer."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from copy import copy, deepcopy
from typing import Any

from millrace.common.errors import JobDefinitionError, SerializationError
from millrace.common.serialization import SerializationSchema
from millrace.common.time.watermark_generator import MAX_WATERMARK
from millrace.common.types.batch import RowBatch
from millrace.connectors.kafka.partitioner import KafkaPartitioner

__all__ = [
    "KafkaRecordSerializationSchema",
    "KafkaRecordSerializationSchemaBuilder",
    "KafkaTopicSelector",
    "Outgoing",
    "is_topic_name",
    "no_partitions",
]

Outgoing = dict[str, list[dict[str, Any]]]
"""Per topic, messages in the form that ``confluent_kafka.Producer.produce_batch`` takes, and
``headers`` and ``partition`` besides."""
_NAME = re.compile(r"[a-zA-Z0-9._-]{1,249}")
HeaderProvider = Callable[[Any], Sequence[tuple[str, bytes | None]]]
Partitioner = Callable[[Any, bytes | None, bytes | None, str, list[int]], int]
PartitionsOf = Callable[[str], list[int]]


def no_partitions(topic: str) -> list[int]:
    """An empty list of partitions, for schemas without access to brokers."""
    return []


class KafkaTopicSelector(ABC):
    """Chooses the topic of each record."""

    @abstractmethod
    def apply(self, data: Any) -> str:
        """Choose the topic of a record."""


class KafkaRecordSerializationSchema:
    """Makes a record's topic, key, value and headers; built by `builder`.

    A record's event time, if it has one, becomes its time stamp in Kafka.

    Example:
        >>> from millrace.common import SimpleStringSchema
        >>> schema = (
        ...     KafkaRecordSerializationSchema.builder()
        ...     .set_topic_selector(lambda word: "long" if len(word) > 3 else "short")
        ...     .set_value_serialization_schema(SimpleStringSchema())
        ...     .build()
        ... )
        >>> schema.serialize_batch(RowBatch(["to", "grind"]))
        {'short': [{'value': b'to'}], 'long': [{'value': b'grind'}]}
    """

    def __init__(
        self,
        topic: str | Callable[[Any], str],
        value_schema: SerializationSchema[Any],
        key_schema: SerializationSchema[Any] | None = None,
        headers: HeaderProvider | None = None,
        partitioner: Partitioner | KafkaPartitioner | None = None,
    ) -> None:
        self._topic = topic
        self._value_schema = value_schema
        self._key_schema = key_schema
        self._headers = headers
        self._partitioner = partitioner

    @staticmethod
    def builder() -> KafkaRecordSerializationSchemaBuilder:
        """A builder of a schema, without settings."""
        return KafkaRecordSerializationSchemaBuilder()

    def opened(self, subtask_index: int, parallelism: int) -> KafkaRecordSerializationSchema:
        """The schema for one subtask, with a partitioner of its own."""
        if not isinstance(self._partitioner, KafkaPartitioner):
            return self
        schema = copy(self)
        schema._partitioner = deepcopy(self._partitioner)
        schema._partitioner.open(subtask_index, parallelism)
        return schema

    def serialize_batch(
        self, batch: RowBatch[Any], partitions_of: PartitionsOf = no_partitions
    ) -> Outgoing:
        """Messages of a batch by topic, in the batch's order within each topic.

        Args:
            partitions_of: gives the partitions of a topic, for a partitioner.
        """
        values = batch.values
        written = self._value_schema.serialize_batch(values)
        messages: list[dict[str, Any]] = [{"value": value} for value in written]
        if self._key_schema is not None:
            for message, key in zip(
                messages, self._key_schema.serialize_batch(values), strict=True
            ):
                message["key"] = key
        if batch.timestamps is not None:
            for message, timestamp in zip(messages, batch.timestamps, strict=True):
                if 0 <= timestamp < MAX_WATERMARK:  # results of global windows have none
                    message["timestamp"] = timestamp
        if self._headers is not None:
            for message, value in zip(messages, values, strict=True):
                message["headers"] = list(self._headers(value))
        return self._by_topic(values, messages, partitions_of)

    def _choose_partitions(
        self, topic: str, value: Any, message: dict[str, Any], partitions: list[int]
    ) -> None:
        assert self._partitioner is not None
        choose = self._partitioner
        if isinstance(choose, KafkaPartitioner):
            choose = choose.partition
        chosen = choose(value, message.get("key"), message["value"], topic, partitions)
        if chosen not in partitions:
            raise SerializationError(
                f"the partitioner gave {chosen!r} for {value!r}; topic '{topic}' has the "
                f"partitions {', '.join(map(str, partitions))}"
            )
        message["partition"] = int(chosen)

    def _by_topic(
        self, values: list[Any], messages: list[dict[str, Any]], partitions_of: PartitionsOf
    ) -> Outgoing:
        if isinstance(self._topic, str):
            if self._partitioner is not None:
                partitions = partitions_of(self._topic)
                for value, message in zip(values, messages, strict=True):
                    self._choose_partitions(self._topic, value, message, partitions)
            return {self._topic: messages}
        by_topic: Outgoing = {}
        for value, message in zip(values, messages, strict=True):
            topic = self._topic(value)
            if not isinstance(topic, str) or (topic not in by_topic and not is_topic_name(topic)):
                raise SerializationError(
                    f"the topic selector gave {topic!r} for {value!r}; it must give a name of up "
                    "to 249 letters, digits, '.', '_' and '-'"
                )
            if self._partitioner is not None:
                self._choose_partitions(topic, value, message, partitions_of(topic))
            by_topic.setdefault(topic, []).append(message)
        return by_topic


class KafkaRecordSerializationSchemaBuilder:
    """Collects the parts of a `KafkaRecordSerializationSchema`; names as in PyFlink."""

    def __init__(self) -> None:
        self._topic: str | Callable[[Any], str] | None = None
        self._value_schema: SerializationSchema[Any] | None = None
        self._key_schema: SerializationSchema[Any] | None = None
        self._headers: HeaderProvider | None = None
        self._partitioner: Partitioner | None = None

    def set_topic(self, topic: str) -> KafkaRecordSerializationSchemaBuilder:
        """Set a fixed topic for all records.

        Raises:
            JobDefinitionError: the argument is not a name.
        """
        if not isinstance(topic, str) or not is_topic_name(topic):
            raise JobDefinitionError(
                "set_topic() takes the name of a topic, of up to 249 letters, digits, '.', '_' and "
                f"'-', not {topic!r}"
            )
        self._topic = topic
        return self

    def set_topic_selector(
        self, topic_selector: Callable[[Any], str] | KafkaTopicSelector
    ) -> KafkaRecordSerializationSchemaBuilder:
        """Set a function that returns each record's topic.

        Raises:
            JobDefinitionError: the argument is not a function or `KafkaTopicSelector`.
        """
        if isinstance(topic_selector, KafkaTopicSelector):
            self._topic = topic_selector.apply
        elif callable(topic_selector):
            self._topic = topic_selector
        else:
            raise JobDefinitionError(
                f"set_topic_selector() takes a function or KafkaTopicSelector, not "
                f"{topic_selector!r}"
            )
        return self

    def set_key_serialization_schema(
        self, key_serialization_schema: SerializationSchema[Any]
    ) -> KafkaRecordSerializationSchemaBuilder:
        """Set the schema of the key, which is made from the whole record; records with the same key
        share a partition.

        Raises:
            JobDefinitionError: the argument is not a `SerializationSchema`.
        """
        self._key_schema = _schema(key_serialization_schema, "key")
        return self

    def set_value_serialization_schema(
        self, value_serialization_schema: SerializationSchema[Any]
    ) -> KafkaRecordSerializationSchemaBuilder:
        """Set the schema of the value.

        Raises:
            JobDefinitionError: the argument is not a `SerializationSchema`.
        """
        self._value_schema = _schema(value_serialization_schema, "value")
        return self

    def set_header_provider(
        self, header_provider: HeaderProvider
    ) -> KafkaRecordSerializationSchemaBuilder:
        """Set a function that returns each record's headers: pairs of a name and bytes or None.

        Raises:
            JobDefinitionError: the argument is not a function.
        """
        if not callable(header_provider):
            raise JobDefinitionError(
                f"set_header_provider() takes a function, not {header_provider!r}"
            )
        self._headers = header_provider
        return self

    def set_partitioner(self, partitioner: Partitioner) -> KafkaRecordSerializationSchemaBuilder:
        """Set the partitioner: a function of a record, its key and value as bytes, its topic and
        the topic's partitions, which returns one of the partitions. By default the key decides.
        Flink: ``KafkaPartitioner``.

        Raises:
            JobDefinitionError: the argument is not a function or partitioner.
        """
        if not callable(partitioner):
            raise JobDefinitionError(f"set_partitioner() takes a function, not {partitioner!r}")
        self._partitioner = partitioner
        return self

    def build(self) -> KafkaRecordSerializationSchema:
        """The schema with all settings made so far.

        Raises:
            JobDefinitionError: the topic or the schema of the value is missing.
        """
        if self._topic is None or self._value_schema is None:
            missing = "set_topic()" if self._topic is None else "set_value_serialization_schema()"
            raise JobDefinitionError(f"a KafkaRecordSerializationSchema needs {missing}")
        return KafkaRecordSerializationSchema(
            self._topic, self._value_schema, self._key_schema, self._headers, self._partitioner
        )


def is_topic_name(topic: str) -> bool:
    """Whether brokers accept the name of a topic. Records for a topic with an invalid name could
    never be committed.
    """
    return _NAME.fullmatch(topic) is not None and topic not in (".", "..")


def _schema(schema: Any, part: str) -> SerializationSchema[Any]:
    if not isinstance(schema, SerializationSchema):
        raise JobDefinitionError(
            f"the {part} is written by a SerializationSchema such as SimpleStringSchema(), not by "
            f"{schema!r}"
        )
    return schema
