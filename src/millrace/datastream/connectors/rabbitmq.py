"""RabbitMQ (``pip install 'millrace[rabbitmq]'``)."""

from __future__ import annotations

from millrace.connectors.rabbitmq import RabbitMQError, RMQConnectionConfig, RMQSink, RMQSource

__all__ = [
    "RMQConnectionConfig",
    "RMQSink",
    "RMQSource",
    "RabbitMQError",
]
