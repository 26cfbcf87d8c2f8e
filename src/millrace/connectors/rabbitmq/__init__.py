"""RabbitMQ as a source and a sink, through the package pika."""

from __future__ import annotations

from millrace.connectors.rabbitmq.connection_config import RabbitMQError, RMQConnectionConfig
from millrace.connectors.rabbitmq.sink import RMQSink
from millrace.connectors.rabbitmq.source import RMQSource

__all__ = [
    "RMQConnectionConfig",
    "RMQSink",
    "RMQSource",
    "RabbitMQError",
]
