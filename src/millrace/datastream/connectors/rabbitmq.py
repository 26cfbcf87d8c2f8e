"""RabbitMQ (``pip install 'millrace[rabbitmq]'``)."""

from __future__ import annotations

from millrace.common.functions.base import SinkFunction, SourceFunction
from millrace.common.serialization import DeserializationSchema, SerializationSchema
from millrace.connectors.rabbitmq import RabbitMQError, RMQConnectionConfig, RMQSink, RMQSource

__all__ = [
    "DeserializationSchema",
    "RMQConnectionConfig",
    "RMQSink",
    "RMQSource",
    "RabbitMQError",
    "SerializationSchema",
    "SinkFunction",
    "SourceFunction",
]
