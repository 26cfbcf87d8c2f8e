"""Apache Pulsar (``pip install 'millrace[pulsar]'``)."""

from __future__ import annotations

from typing import NoReturn

from millrace.common.sink.delivery_guarantee import DeliveryGuarantee
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
    "DeliveryGuarantee",
    "MessageDelayer",
    "PulsarMessage",
    "PulsarSerializationSchema",
    "PulsarSink",
    "PulsarSinkBuilder",
    "TopicRoutingMode",
    "MessagePosition",
    "PulsarDeserializationSchema",
    "PulsarError",
    "PulsarRecord",
    "PulsarSource",
    "PulsarSourceBuilder",
    "StartCursor",
    "StopCursor",
]


def __getattr__(name: str) -> NoReturn:
    """Explain what a program imports from here and Millrace does not have."""
    raise missing_name(__name__, name)
