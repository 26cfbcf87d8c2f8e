"""Kafka as a source and a sink, through the package confluent-kafka."""

from __future__ import annotations

from millrace.connectors.kafka.client import KafkaError
from millrace.connectors.kafka.dynamic_source import (
    DynamicKafkaSource,
    DynamicKafkaSourceBuilder,
)
from millrace.connectors.kafka.former_consumer import FlinkKafkaConsumer
from millrace.connectors.kafka.former_producer import FlinkKafkaProducer, Semantic
from millrace.connectors.kafka.metadata_service import (
    ClusterMetadata,
    KafkaMetadataService,
    KafkaStream,
    KafkaStreamSetSubscriber,
    KafkaStreamSubscriber,
    SingleClusterTopicMetadataService,
    StreamPatternSubscriber,
)
from millrace.connectors.kafka.offsets_initializer import (
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
)
from millrace.connectors.kafka.record_deserializer import (
    KafkaOrigin,
    KafkaRecord,
    KafkaRecordDeserializationSchema,
    SimpleStringValueKafkaRecordDeserializationSchema,
)
from millrace.connectors.kafka.record_serializer import (
    KafkaRecordSerializationSchema,
    KafkaRecordSerializationSchemaBuilder,
    KafkaTopicSelector,
)
from millrace.connectors.kafka.sink import KafkaSink, KafkaSinkBuilder
from millrace.connectors.kafka.source import KafkaSource, KafkaSourceBuilder
from millrace.connectors.kafka.topic_partition import KafkaTopicPartition

__all__ = [
    "ClusterMetadata",
    "DynamicKafkaSource",
    "DynamicKafkaSourceBuilder",
    "FlinkKafkaConsumer",
    "FlinkKafkaProducer",
    "KafkaError",
    "KafkaMetadataService",
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
    "KafkaStream",
    "KafkaStreamSetSubscriber",
    "KafkaStreamSubscriber",
    "KafkaTopicPartition",
    "KafkaTopicSelector",
    "Semantic",
    "SimpleStringValueKafkaRecordDeserializationSchema",
    "SingleClusterTopicMetadataService",
    "StreamPatternSubscriber",
]
