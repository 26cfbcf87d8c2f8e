"""Kafka (``pip install 'millrace[kafka]'``)."""

from __future__ import annotations

from typing import NoReturn

from millrace.common.sink.delivery_guarantee import DeliveryGuarantee
from millrace.connectors.kafka import (
    KafkaError,
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
    KafkaOrigin,
    KafkaRecord,
    KafkaRecordDeserializationSchema,
    KafkaRecordSerializationSchema,
    KafkaRecordSerializationSchemaBuilder,
    KafkaSink,
    KafkaSinkBuilder,
    KafkaSource,
    KafkaSourceBuilder,
    KafkaTopicPartition,
    KafkaTopicSelector,
    SimpleStringValueKafkaRecordDeserializationSchema,
)
from millrace.missing_modules import missing_name

__all__ = [
    "DeliveryGuarantee",
    "KafkaError",
    "KafkaOffsetResetStrategy",
    "KafkaOffsetsInitializer",
    "KafkaOrigin",
    "KafkaRecord",
    "KafkaRecordDeserializationSchema",
    "KafkaRecordSerializationSchema",
    "KafkaRecordSerializationSchemaBuilder",
    "KafkaSink",
    "KafkaSinkBuilder",
    "KafkaSource",
    "KafkaSourceBuilder",
    "KafkaTopicPartition",
    "KafkaTopicSelector",
    "SimpleStringValueKafkaRecordDeserializationSchema",
]


def __getattr__(name: str) -> NoReturn:
    """Explain what a program imports from here and Millrace does not have."""
    raise missing_name(__name__, name)
