"""The Kafka sink of programs written for Flink 1. Flink: class ``FlinkKafkaProducer``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Self

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
from millrace.common.types.batch import RowBatch
from millrace.connectors.index_range import require_at_least
from millrace.connectors.kafka.client import require_properties
from millrace.connectors.kafka.record_serializer import (
    KafkaRecordSerializationSchema,
    Outgoing,
    PartitionsOf,
    is_topic_name,
    no_partitions,
)
from millrace.connectors.kafka.sink import KafkaSink

__all__ = ["FlinkKafkaProducer", "Semantic"]

_TRANSACTIONAL_ID = "transactional.id"


class Semantic(Enum):
    """Delivery guarantees of a `FlinkKafkaProducer`."""

    EXACTLY_ONCE = 0
    AT_LEAST_ONCE = 1
    NONE = 2


_GUARANTEES = {semantic: DeliveryGuarantee[semantic.name] for semantic in Semantic}


@dataclass(frozen=True)
class _Choices:
    """Settings that methods of the producer have changed."""

    semantic: Semantic
    writes_timestamps: bool = False


class FlinkKafkaProducer(Sink[Any]):
    """Writes to a topic of Kafka as a `KafkaSink` does, with the methods and defaults of Flink 1.

    It is a sink for ``add_sink`` and ``sink_to``. Kafka's own partitioner chooses the partitions.

    Args:
        topic: its name.
        serialization_schema: writes the values.
        producer_config: properties of the producers, ``bootstrap.servers`` among them; and, for
            exactly-once, ``transactional.id``: a name that no other sink on these brokers has, and
            that stays the same when the job is resumed.
        kafka_producer_pool_size: accepted for Flink programs, without effect: one producer commits.
        semantic: the guarantee.

    Raises:
        JobDefinitionError: an argument is not what it should be, or a property is missing.

    Example:
        >>> from millrace.common import SimpleStringSchema
        >>> producer = FlinkKafkaProducer(
        ...     "totals", SimpleStringSchema(), {"bootstrap.servers": "localhost:9092"}
        ... )
        >>> producer.set_write_timestamp_to_kafka(True).commit_mode.name
        'IN_BACKGROUND'
    """

    def __init__(
        self,
        topic: str,
        serialization_schema: SerializationSchema[Any],
        producer_config: Mapping[str, str],
        kafka_producer_pool_size: int = 5,
        semantic: Semantic = Semantic.AT_LEAST_ONCE,
    ) -> None:
        if not isinstance(topic, str) or not is_topic_name(topic):
            raise JobDefinitionError(
                f"a FlinkKafkaProducer needs the name of a topic, not {topic!r}"
            )
        if not isinstance(serialization_schema, SerializationSchema):
            raise JobDefinitionError(
                "a FlinkKafkaProducer needs a SerializationSchema such as SimpleStringSchema(), "
                f"not {serialization_schema!r}"
            )
        if not isinstance(semantic, Semantic):
            raise JobDefinitionError(
                f"a guarantee is a Semantic such as Semantic.AT_LEAST_ONCE, not {semantic!r}"
            )
        require_at_least(1, kafka_producer_pool_size=kafka_producer_pool_size)
        self._topic = topic
        self._schema = serialization_schema
        self._properties = require_properties(producer_config)
        self._choices = _Choices(semantic)
        self._require_properties()

    def _require_properties(self) -> None:
        needed = {"bootstrap.servers": "such as 'localhost:9092'"}
        if self._choices.semantic is Semantic.EXACTLY_ONCE:
            needed[_TRANSACTIONAL_ID] = (
                "for exactly-once, a name that no other sink on these brokers has and that stays "
                "the same when the job is resumed"
            )
        for name, meaning in needed.items():
            if name not in self._properties:
                raise JobDefinitionError(
                    f"a FlinkKafkaProducer needs the property '{name}', {meaning}"
                )

    def set_log_failures_only(self, log_failures_only: bool) -> Self:
        """Set whether failed writes are only logged; only False, the default, is accepted.

        Raises:
            JobDefinitionError: it is True: records would be lost.
        """
        if log_failures_only:
            raise JobDefinitionError(
                "set_log_failures_only(True) would lose records that Kafka refuses; "
                "Semantic.NONE chooses that the job does not wait for deliveries"
            )
        return self

    def set_flush_on_checkpoint(self, flush_on_checkpoint: bool) -> Self:
        """Set whether an epoch ends only when the brokers have all its records. False turns the
        guarantee AT_LEAST_ONCE into NONE.

        Raises:
            JobDefinitionError: it is False and the semantic EXACTLY_ONCE.
        """
        if self._choices.semantic is Semantic.EXACTLY_ONCE:
            if not flush_on_checkpoint:
                raise JobDefinitionError(
                    "set_flush_on_checkpoint(False) and Semantic.EXACTLY_ONCE exclude each other"
                )
            return self
        semantic = Semantic.AT_LEAST_ONCE if flush_on_checkpoint else Semantic.NONE
        self._choices = _Choices(semantic, self._choices.writes_timestamps)
        return self

    def set_write_timestamp_to_kafka(self, write_timestamp_to_kafka: bool) -> Self:
        """Set whether a record's event time becomes its timestamp in Kafka; by default the
        timestamp is the time of the write."""
        self._choices = _Choices(self._choices.semantic, bool(write_timestamp_to_kafka))
        return self

    def ignore_failures_after_transaction_timeout(self) -> Self:
        """Accepted for Flink programs, without effect: an expired transaction is written again
        from the checkpoint, so no record is lost."""
        return self

    @property
    def commit_mode(self) -> CommitMode:
        return self._sink().commit_mode

    @property
    def exclusive_id(self) -> str | None:
        return self._sink().exclusive_id

    def create_writer(self, context: WriterContext, state: Any) -> SinkWriter[Any]:
        return self._sink().create_writer(context, state)

    def create_committer(self, context: CommitterContext) -> Committer | None:
        return self._sink().create_committer(context)

    def _sink(self) -> KafkaSink:
        """The underlying `KafkaSink`."""
        kind = KafkaRecordSerializationSchema
        if not self._choices.writes_timestamps:
            kind = _WithoutTimestamps
        builder = KafkaSink.builder().set_record_serializer(kind(self._topic, self._schema))
        builder.set_delivery_guarantee(_GUARANTEES[self._choices.semantic])
        for name, value in self._properties.items():
            if name == _TRANSACTIONAL_ID:
                builder.set_transactional_id_prefix(value)
            else:
                builder.set_property(name, value)
        return builder.build()


class _WithoutTimestamps(KafkaRecordSerializationSchema):
    """Serialization schema that leaves the timestamps of records to the client."""

    def serialize_batch(
        self, batch: RowBatch[Any], partitions_of: PartitionsOf = no_partitions
    ) -> Outgoing:
        return super().serialize_batch(RowBatch(batch.values), partitions_of)
