"""Kafka (``pip install 'millrace[kafka]'``)."""

from __future__ import annotations

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
    FlinkKafkaConsumer,
    FlinkKafkaProducer,
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
    Semantic,
    SimpleStringValueKafkaRecordDeserializationSchema,
)

__all__ = [
    "DeliveryGuarantee",
    "DeserializationSchema",
    "FlinkKafkaConsumer",
    "FlinkKafkaProducer",
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
    "Semantic",
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
