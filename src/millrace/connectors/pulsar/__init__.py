"""Apache Pulsar as a source, through the package pulsar-client."""

from __future__ import annotations

from millrace.connectors.pulsar.client import PulsarError
from millrace.connectors.pulsar.cursor import StartCursor, StopCursor
from millrace.connectors.pulsar.message_position import MessagePosition
from millrace.connectors.pulsar.record_deserializer import (
    PulsarDeserializationSchema,
    PulsarRecord,
)
from millrace.connectors.pulsar.source import PulsarSource, PulsarSourceBuilder

__all__ = [
    "MessagePosition",
    "PulsarDeserializationSchema",
    "PulsarError",
    "PulsarRecord",
    "PulsarSource",
    "PulsarSourceBuilder",
    "StartCursor",
    "StopCursor",
]
