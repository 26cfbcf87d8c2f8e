"""Apache Pulsar (``pip install 'millrace[pulsar]'``)."""

from __future__ import annotations

from millrace.common.config.config_options import ConfigOption, ConfigOptions
from millrace.common.serialization import DeserializationSchema, SerializationSchema
from millrace.common.sink.delivery_guarantee import DeliveryGuarantee
from millrace.common.sink.sink import Sink
from millrace.common.source.source import Source
from millrace.common.time.amounts import Duration
from millrace.connectors.pulsar import (
    MessageDelayer,
    MessagePosition,
    PulsarDeserializationSchema,
    PulsarError,
    PulsarMessage,
    PulsarRecord,
    PulsarSerializationSchema,
    PulsarSink,
    PulsarSinkBuilder,
    PulsarSource,
    PulsarSourceBuilder,
    StartCursor,
    StopCursor,
    TopicRoutingMode,
)
from millrace.missing_modules import explain_missing_names

__all__ = [
    "ConfigOption",
    "ConfigOptions",
    "DeliveryGuarantee",
    "DeserializationSchema",
    "Duration",
    "MessageDelayer",
    "MessagePosition",
    "PulsarDeserializationSchema",
    "PulsarError",
    "PulsarMessage",
    "PulsarRecord",
    "PulsarSerializationSchema",
    "PulsarSink",
    "PulsarSinkBuilder",
    "PulsarSource",
    "PulsarSourceBuilder",
    "SerializationSchema",
    "Sink",
    "Source",
    "StartCursor",
    "StopCursor",
    "TopicRoutingMode",
]

explain_missing_names(__name__)
