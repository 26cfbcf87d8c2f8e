"""Topics of Kafka as ingress and egress."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any
from zlib import crc32

from millrace.common.errors import SerializationError
from millrace.common.serialization import SerializationSchema
from millrace.common.sink import DeliveryGuarantee
from millrace.common.types.batch import RowBatch
from millrace.connectors.kafka import (
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
    KafkaRecordDeserializationSchema,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
    KafkaTopicPartition,
)
from millrace.connectors.kafka.record_deserializer import KafkaRecord
from millrace.statefun.address import Address, TypedValue
from millrace.statefun.application.egress_records import EgressRecords
from millrace.statefun.invocation.batch import RoutableMessage
from millrace.statefun.module.components import KafkaEgress, KafkaIngress, Routed, StartupPosition
from millrace.statefun.protocol import KAFKA_RECORD, KafkaProducerRecord

__all__ = ["RoutedRecords", "kafka_sink", "kafka_source", "topic_key_value"]

_GUARANTEES = {
    "none": DeliveryGuarantee.NONE,
    "at-least-once": DeliveryGuarantee.AT_LEAST_ONCE,
    "exactly-once": DeliveryGuarantee.EXACTLY_ONCE,
}
_TRANSACTIONAL_ID = "transactional.id"
_DEFAULT_TIMEOUT_MS = 100_000
_RECORDS = EgressRecords(
    "Kafka", KAFKA_RECORD, KafkaProducerRecord, "kafka_egress_message", ("topic",)
)

KafkaMessage = tuple[str, "bytes | None", bytes]
"""Topic, key and value."""


class RoutedRecords(KafkaRecordDeserializationSchema[RoutableMessage]):
    """Deserializer that makes one message per record and target. The record's key is the id of
    the address."""

    def __init__(self, topics: Sequence[Routed]) -> None:
        self._topics = {
            routed.topic: (routed.value_type, tuple(tuple(target) for target in routed.targets))
            for routed in topics
        }

    def deserialize(self, record: KafkaRecord) -> RoutableMessage | None:
        raise NotImplementedError("a record may have several targets")

    def deserialize_flat(self, messages: Sequence[Any]) -> tuple[RowBatch[Any], list[int]]:
        """Convert messages of Kafka to messages for all their targets.

        Raises:
            SerializationError: a record has no key, or one that is not UTF-8.
        """
        routed, indexes = [], []
        for index, message in enumerate(messages):
            value_type, targets = self._topics[message.topic()]
            value = message.value()
            argument = TypedValue(value_type, value is not None, value or b"")
            id = _id(message)
            for namespace, name in targets:
                routed.append(RoutableMessage(Address(namespace, name, id), argument))
                indexes.append(index)
        return RowBatch(routed), indexes


def _id(message: Any) -> str:
    key, place = message.key(), f"{message.topic()}-{message.partition()} at {message.offset()}"
    if key is None:
        raise SerializationError(
            f"the record {place} has no key, but the key is the id of the function's address"
        )
    try:
        return str(key, "utf-8")
    except UnicodeDecodeError:
        raise SerializationError(
            f"the key of the record {place} is not UTF-8, but it is the id of the "
            "function's address"
        ) from None


def kafka_source(ingress: KafkaIngress) -> KafkaSource[Any]:
    """Kafka source of an ingress. If the ingress no longer names a topic, it is not read,
    although a checkpoint has it. If it is named again later, it is read from its last offset."""
    builder = KafkaSource.builder()
    for name, value in ingress.properties:
        builder.set_property(name, value)
    builder.set_bootstrap_servers(ingress.address)
    builder.set_topics(*(routed.topic for routed in ingress.topics))
    if ingress.consumer_group_id is not None:
        builder.set_group_id(ingress.consumer_group_id)
    builder.set_deserializer(RoutedRecords(ingress.topics))
    reset = KafkaOffsetResetStrategy[ingress.auto_offset_reset_position.upper()]
    builder.set_starting_offsets(_offsets(ingress.startup_position, reset))
    return builder.build().of_subscribed_topics()


def _offsets(position: StartupPosition, reset: KafkaOffsetResetStrategy) -> KafkaOffsetsInitializer:
    match position.type:
        case "earliest":
            return KafkaOffsetsInitializer.earliest()
        case "latest":
            return KafkaOffsetsInitializer.latest()
        case "specific-offsets":
            places = {KafkaTopicPartition(t, p): offset for t, p, offset in position.offsets}
            return KafkaOffsetsInitializer.offsets(places, reset)
        case "date":
            assert position.epoch_ms is not None
            return KafkaOffsetsInitializer.timestamp(position.epoch_ms)
        case _:
            return KafkaOffsetsInitializer.committed_offsets(reset)


def _prefix(job_name: str, egress: str) -> str:
    """Prefix of transactional ids. What people read of it may be the same for two egresses; the
    number in it is not."""
    parts = [re.sub(r"[^A-Za-z0-9._]+", "_", part)[:100] for part in (job_name, egress) if part]
    number = crc32(f"{job_name}\n{egress}".encode())
    return "-".join(("statefun", *parts, f"{number:08x}"))


class _Value(SerializationSchema[KafkaMessage]):
    def serialize(self, value: KafkaMessage) -> bytes:
        return value[2]


class _Key(SerializationSchema[KafkaMessage]):
    def serialize(self, value: KafkaMessage) -> Any:
        return value[1]


def topic_key_value(record: TypedValue) -> KafkaMessage:
    """Topic, key and value of a record that a function gives to the egress.

    Raises:
        SerializationError: the value is no record, or has no topic.
    """
    parsed = _RECORDS.parsed(record)
    return parsed.topic, parsed.key.encode() or None, parsed.value_bytes


def kafka_sink(egress: KafkaEgress, job_name: str = "") -> KafkaSink:
    """Kafka sink of an egress, for records from `topic_key_value`. The prefix of transactional ids
    is the property ``transactional.id``, or consists of the job's name and the egress' id.
    """
    properties = dict(egress.properties)
    prefix = properties.pop(_TRANSACTIONAL_ID, None)
    builder = KafkaSink.builder().set_bootstrap_servers(egress.address)
    for name, value in properties.items():
        builder.set_property(name, value)
    guarantee = _GUARANTEES[egress.semantic]
    if guarantee is DeliveryGuarantee.EXACTLY_ONCE:
        builder.set_property(
            "transaction.timeout.ms", str(egress.transaction_timeout_ms or _DEFAULT_TIMEOUT_MS)
        )
        builder.set_transactional_id_prefix(prefix or _prefix(job_name, str(egress.id)))
    schema = (
        KafkaRecordSerializationSchema.builder()
        .set_topic_selector(lambda record: record[0])
        .set_key_serialization_schema(_Key())
        .set_value_serialization_schema(_Value())
        .build()
    )
    return builder.set_delivery_guarantee(guarantee).set_record_serializer(schema).build()
