"""A sink to Kafka topics. Flink docs: "Kafka", Kafka Sink; FLIP-143."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from millrace.common.errors import JobDefinitionError
from millrace.common.sink import (
    CommitMode,
    Committer,
    CommitterContext,
    DeliveryGuarantee,
    Sink,
    SinkWriter,
    WriterContext,
)
from millrace.connectors.kafka.client import client_config, require_properties
from millrace.connectors.kafka.record_serializer import (
    KafkaRecordSerializationSchema,
    is_topic_name,
)
from millrace.connectors.kafka.staged_records import StagingWriter
from millrace.connectors.kafka.topic_partitions import TopicPartitions
from millrace.connectors.kafka.transaction_committer import (
    KafkaTransactionCommitter,
    marks_topic,
)
from millrace.connectors.kafka.writer import KafkaWriter

__all__ = ["KafkaSink", "KafkaSinkBuilder"]

MAX_MESSAGE_BYTES = "message.max.bytes"
_JAVA_MAX_MESSAGE_BYTES = "max.request.size"
_DEFAULT_MAX_MESSAGE_BYTES = "1000000"


@dataclass(frozen=True)
class KafkaWriting:
    """Settings of a Kafka sink."""

    schema: KafkaRecordSerializationSchema
    guarantee: DeliveryGuarantee
    transactional_id_prefix: str | None
    properties: Mapping[str, str]


class KafkaSink(Sink[Any]):
    """Writes to topics of Kafka; made by `KafkaSink.builder`.

    Example:
        >>> from millrace.common import SimpleStringSchema
        >>> schema = (
        ...     KafkaRecordSerializationSchema.builder()
        ...     .set_topic("totals")
        ...     .set_value_serialization_schema(SimpleStringSchema())
        ...     .build()
        ... )
        >>> sink = (
        ...     KafkaSink.builder()
        ...     .set_bootstrap_servers("localhost:9092")
        ...     .set_record_serializer(schema)
        ...     .set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
        ...     .set_transactional_id_prefix("shop-totals")
        ...     .build()
        ... )
        >>> sink.commit_mode.name
        'IN_BACKGROUND'
    """

    def __init__(self, writing: KafkaWriting) -> None:
        self._writing = writing

    @staticmethod
    def builder() -> KafkaSinkBuilder:
        """A builder of a sink, without settings."""
        return KafkaSinkBuilder()

    @property
    def commit_mode(self) -> CommitMode:
        return CommitMode.IN_BACKGROUND

    @property
    def exclusive_id(self) -> str | None:
        prefix = self._writing.transactional_id_prefix
        return None if prefix is None else f"transactional id prefix '{prefix}'"

    def create_writer(self, context: WriterContext, state: Any) -> SinkWriter[Any]:
        writing = self._writing
        partitions = TopicPartitions(writing.properties)
        schema = writing.schema.opened(context.subtask_index, context.parallelism)
        largest = int(writing.properties.get(MAX_MESSAGE_BYTES, _DEFAULT_MAX_MESSAGE_BYTES))
        if writing.guarantee is DeliveryGuarantee.EXACTLY_ONCE:
            return StagingWriter(schema, largest, partitions, context)
        waits = writing.guarantee is DeliveryGuarantee.AT_LEAST_ONCE
        return KafkaWriter(writing.properties, schema, waits, largest, partitions, context)

    def create_committer(self, context: CommitterContext) -> Committer | None:
        writing = self._writing
        if writing.transactional_id_prefix is None:
            return None
        properties = writing.properties
        return KafkaTransactionCommitter(
            properties, client_config(properties), writing.transactional_id_prefix, context
        )


class KafkaSinkBuilder:
    """Collects the options of a `KafkaSink`; names as in PyFlink."""

    def __init__(self) -> None:
        self._schema: KafkaRecordSerializationSchema | None = None
        self._guarantee = DeliveryGuarantee.NONE
        self._prefix: str | None = None
        self._properties: dict[str, str] = {}

    def set_bootstrap_servers(self, bootstrap_servers: str) -> KafkaSinkBuilder:
        """Set the bootstrap brokers: ``host:port``, several separated by commas."""
        return self.set_property("bootstrap.servers", bootstrap_servers)

    def set_delivery_guarantee(self, delivery_guarantee: DeliveryGuarantee) -> KafkaSinkBuilder:
        """Choose the guarantee; by default none.

        Raises:
            JobDefinitionError: the argument is not a `DeliveryGuarantee`.
        """
        if not isinstance(delivery_guarantee, DeliveryGuarantee):
            raise JobDefinitionError(
                f"set_delivery_guarantee() takes a DeliveryGuarantee such as EXACTLY_ONCE, not "
                f"{delivery_guarantee!r}"
            )
        self._guarantee = delivery_guarantee
        return self

    def set_transactional_id_prefix(self, transactional_id_prefix: str) -> KafkaSinkBuilder:
        """Set the name by which the brokers identify the sink, for exactly-once. It must be unique
        on these brokers, and stay the same when the job is resumed.

        Raises:
            JobDefinitionError: it cannot be in the name of a topic, as that of the sink's marks.
        """
        prefix = transactional_id_prefix
        if not isinstance(prefix, str) or not prefix or not is_topic_name(marks_topic(prefix)):
            raise JobDefinitionError(
                "a transactional id prefix must be a text of letters, digits, '.', '_' and '-', "
                f"because the name of a topic contains it, not {prefix!r}"
            )
        self._prefix = prefix
        return self

    def set_record_serializer(
        self, record_serializer: KafkaRecordSerializationSchema
    ) -> KafkaSinkBuilder:
        """Set the schema that makes topic, key, value and headers of a record.

        Raises:
            JobDefinitionError: the argument is not a `KafkaRecordSerializationSchema`.
        """
        if not isinstance(record_serializer, KafkaRecordSerializationSchema):
            raise JobDefinitionError(
                "set_record_serializer() takes a KafkaRecordSerializationSchema, not "
                f"{record_serializer!r}"
            )
        self._schema = record_serializer
        return self

    def set_property(self, key: str, value: str) -> KafkaSinkBuilder:
        """Set a property of the producers."""
        key = MAX_MESSAGE_BYTES if key == _JAVA_MAX_MESSAGE_BYTES else key
        self._properties |= require_properties({key: value})
        return self

    def build(self) -> KafkaSink:
        """The sink with all settings made so far.

        Raises:
            JobDefinitionError: brokers or record serializer are missing, or the transactional id
                prefix that exactly-once needs.
        """
        exactly_once = self._guarantee is DeliveryGuarantee.EXACTLY_ONCE
        for present, call in (
            ("bootstrap.servers" in self._properties, "set_bootstrap_servers()"),
            (self._schema is not None, "set_record_serializer()"),
            (
                not exactly_once or self._prefix is not None,
                "set_transactional_id_prefix() for exactly-once, a name that no other sink on "
                "these brokers has",
            ),
        ):
            if not present:
                raise JobDefinitionError(f"a KafkaSink needs {call}")
        assert self._schema is not None
        prefix = self._prefix if exactly_once else None
        return KafkaSink(KafkaWriting(self._schema, self._guarantee, prefix, self._properties))
