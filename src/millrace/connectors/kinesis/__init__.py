"""Amazon Kinesis Data Streams as a source and a sink, through the package botocore."""

from __future__ import annotations

from millrace.connectors.kinesis.client import KinesisError
from millrace.connectors.kinesis.firehose_sink import (
    KinesisFirehoseSink,
    KinesisFirehoseSinkBuilder,
)
from millrace.connectors.kinesis.partition_key import PartitionKeyGenerator
from millrace.connectors.kinesis.record_deserializer import (
    KinesisDeserializationSchema,
    KinesisRecord,
)
from millrace.connectors.kinesis.shard_assigner import KinesisShardAssigner
from millrace.connectors.kinesis.sink import KinesisStreamsSink, KinesisStreamsSinkBuilder
from millrace.connectors.kinesis.source import FlinkKinesisConsumer

__all__ = [
    "FlinkKinesisConsumer",
    "KinesisDeserializationSchema",
    "KinesisError",
    "KinesisFirehoseSink",
    "KinesisFirehoseSinkBuilder",
    "KinesisRecord",
    "KinesisShardAssigner",
    "KinesisStreamsSink",
    "KinesisStreamsSinkBuilder",
    "PartitionKeyGenerator",
]
