"""Amazon Kinesis data streams (``pip install 'millrace[kinesis]'``)."""

from __future__ import annotations

from typing import NoReturn

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
from millrace.missing_modules import missing_name

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


def __getattr__(name: str) -> NoReturn:
    """Error for a name that programs import from here and that Millrace does not have."""
    raise missing_name(__name__, name)
