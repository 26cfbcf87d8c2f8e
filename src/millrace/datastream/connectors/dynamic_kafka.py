"""Kafka streams whose clusters and topics change (``pip install 'millrace[kafka]'``)."""

from __future__ import annotations

from millrace.common.serialization import DeserializationSchema
from millrace.common.source.source import Source
from millrace.connectors.kafka import (
    ClusterMetadata,
    DynamicKafkaSource,
    DynamicKafkaSourceBuilder,
    KafkaMetadataService,
    KafkaRecordDeserializationSchema,
    KafkaStream,
    KafkaStreamSetSubscriber,
    KafkaStreamSubscriber,
    SingleClusterTopicMetadataService,
    StreamPatternSubscriber,
)
from millrace.connectors.kafka.offsets_initializer import KafkaOffsetsInitializer

__all__ = [
    "ClusterMetadata",
    "DeserializationSchema",
    "DynamicKafkaSource",
    "DynamicKafkaSourceBuilder",
    "KafkaMetadataService",
    "KafkaOffsetsInitializer",
    "KafkaRecordDeserializationSchema",
    "KafkaStream",
    "KafkaStreamSetSubscriber",
    "KafkaStreamSubscriber",
    "SingleClusterTopicMetadataService",
    "Source",
    "StreamPatternSubscriber",
]
