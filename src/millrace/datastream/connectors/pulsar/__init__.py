"""Apache Pulsar (``pip install 'millrace[pulsar]'``)."""

from __future__ import annotations

from typing import NoReturn

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
from millrace.missing_modules import missing_name

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


def __getattr__(name: str) -> NoReturn:
    """Error for a name that programs import from here and that Millrace does not have."""
    raise missing_name(__name__, name)
