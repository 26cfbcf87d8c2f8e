"""Sources and sinks at the paths that PyFlink programs import them from."""

from __future__ import annotations

from millrace.common.sink.delivery_guarantee import DeliveryGuarantee
from millrace.common.sink.sink import Sink
from millrace.common.source import Source
from millrace.connectors.bucket_assigner import BucketAssigner
from millrace.connectors.cassandra import CassandraSink
from millrace.connectors.elasticsearch import ElasticsearchSink
from millrace.connectors.file_compaction import FileCompactor, FileCompactStrategy
from millrace.connectors.file_enumeration import (
    FileEnumeratorProvider,
    FileSplitAssignerProvider,
)
from millrace.connectors.file_sink import FileSink, StreamingFileSink
from millrace.connectors.file_source import FileSource, FileSourceBuilder
from millrace.connectors.hybrid import HybridSource, HybridSourceBuilder
from millrace.connectors.jdbc import JdbcConnectionOptions, JdbcExecutionOptions, JdbcSink
from millrace.connectors.kafka import (
    FlinkKafkaConsumer,
    FlinkKafkaProducer,
    KafkaSink,
    KafkaSource,
    Semantic,
)
from millrace.connectors.kinesis import FlinkKinesisConsumer, KinesisStreamsSink
from millrace.connectors.number_sequence import NumberSequenceSource
from millrace.connectors.output_file_config import OutputFileConfig
from millrace.connectors.pulsar import (
    PulsarSink,
    PulsarSource,
    PulsarSourceBuilder,
    StartCursor,
    StopCursor,
)
from millrace.connectors.rabbitmq import RMQConnectionConfig, RMQSink, RMQSource
from millrace.connectors.rolling_policy import RollingPolicy
from millrace.datastream.connectors.dynamic_kafka import (
    DynamicKafkaSource,
    DynamicKafkaSourceBuilder,
    KafkaMetadataService,
    KafkaRecordDeserializationSchema,
    KafkaStreamSetSubscriber,
    KafkaStreamSubscriber,
    SingleClusterTopicMetadataService,
    StreamPatternSubscriber,
)
from millrace.formats.stream_format import StreamFormat

__all__ = [
    "BucketAssigner",
    "CassandraSink",
    "DeliveryGuarantee",
    "DynamicKafkaSource",
    "DynamicKafkaSourceBuilder",
    "ElasticsearchSink",
    "FileCompactStrategy",
    "FileCompactor",
    "FileEnumeratorProvider",
    "FileSink",
    "FileSource",
    "FileSourceBuilder",
    "FileSplitAssignerProvider",
    "FlinkKafkaConsumer",
    "FlinkKafkaProducer",
    "FlinkKinesisConsumer",
    "HybridSource",
    "HybridSourceBuilder",
    "JdbcConnectionOptions",
    "JdbcExecutionOptions",
    "JdbcSink",
    "KafkaMetadataService",
    "KafkaRecordDeserializationSchema",
    "KafkaSink",
    "KafkaSource",
    "KafkaStreamSetSubscriber",
    "KafkaStreamSubscriber",
    "KinesisStreamsSink",
    "NumberSequenceSource",
    "OutputFileConfig",
    "PulsarSink",
    "PulsarSource",
    "PulsarSourceBuilder",
    "RMQConnectionConfig",
    "RMQSink",
    "RMQSource",
    "RollingPolicy",
    "Semantic",
    "SingleClusterTopicMetadataService",
    "Sink",
    "Source",
    "StartCursor",
    "StopCursor",
    "StreamFormat",
    "StreamPatternSubscriber",
    "StreamingFileSink",
]
