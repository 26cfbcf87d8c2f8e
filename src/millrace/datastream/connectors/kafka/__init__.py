"""Kafka (``pip install 'millrace[kafka]'``)."""

from __future__ import annotations

from typing import NoReturn

from millrace.common import typeinfo
from millrace.common.functions.base import SinkFunction, SourceFunction
from millrace.common.serialization import DeserializationSchema, SerializationSchema
from millrace.common.sink.delivery_guarantee import DeliveryGuarantee
from millrace.common.sink.sink import Sink
from millrace.common.source.source import Source
from millrace.common.types.row import Row
from millrace.common.types.type_information import TypeInformation
from millrace.common.types.typeinfo import Types
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
    "DeserializationSchema",
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
    "Row",
    "SerializationSchema",
    "SimpleStringValueKafkaRecordDeserializationSchema",
    "Sink",
    "SinkFunction",
    "Source",
    "SourceFunction",
    "TypeInformation",
    "Types",
    "typeinfo",
]


def __getattr__(name: str) -> NoReturn:
    """Explain what a program imports from here and Millrace does not have."""
    raise missing_name(__name__, name)
