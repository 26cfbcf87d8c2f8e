"""Apache Pulsar as a source and a sink, through the package pulsar-client."""

from __future__ import annotations

from millrace.connectors.pulsar.client import PulsarError
from millrace.connectors.pulsar.cursor import StartCursor, StopCursor
from millrace.connectors.pulsar.message import PulsarMessage, PulsarSerializationSchema
from millrace.connectors.pulsar.message_position import MessagePosition
from millrace.connectors.pulsar.record_deserializer import (
    PulsarDeserializationSchema,
    PulsarRecord,
)
from millrace.connectors.pulsar.sink import MessageDelayer, PulsarSink, PulsarSinkBuilder
from millrace.connectors.pulsar.source import PulsarSource, PulsarSourceBuilder
from millrace.connectors.pulsar.topic_router import TopicRoutingMode

__all__ = [
    "MessagePosition",
    "PulsarDeserializationSchema",
    "PulsarError",
    "PulsarRecord",
    "PulsarSource",
    "PulsarSourceBuilder",
    "StartCursor",
    "StopCursor",
    "MessageDelayer",
    "PulsarMessage",
    "PulsarSerializationSchema",
    "PulsarSink",
    "PulsarSinkBuilder",
    "TopicRoutingMode",
]
