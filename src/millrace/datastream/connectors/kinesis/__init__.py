"""Amazon Kinesis data streams (``pip install 'millrace[kinesis]'``)."""

from __future__ import annotations

from millrace.common.functions.base import SourceFunction
from millrace.common.serialization import DeserializationSchema, SerializationSchema
from millrace.common.sink.sink import Sink
from millrace.connectors.kinesis import (
    FlinkKinesisConsumer,
    KinesisDeserializationSchema,
    KinesisError,
    KinesisFirehoseSink,
    KinesisFirehoseSinkBuilder,
    KinesisRecord,
    KinesisShardAssigner,
    KinesisStreamsSink,
    KinesisStreamsSinkBuilder,
    PartitionKeyGenerator,
)
from millrace.missing_modules import explain_missing_names

__all__ = [
    "DeserializationSchema",
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
    "SerializationSchema",
    "Sink",
    "SourceFunction",
]

explain_missing_names(__name__)
