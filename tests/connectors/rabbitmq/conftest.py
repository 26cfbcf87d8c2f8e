"""Queues of a real RabbitMQ server."""

from __future__ import annotations

import uuid
from typing import Any

import pika
import pytest
from rabbitmq_server import RabbitMQServer

from millrace.connectors.rabbitmq import RMQConnectionConfig


class Queue:
    """A durable queue, and who fills and empties it."""

    def __init__(self, server: RabbitMQServer) -> None:
        self.server = server
        self.name = f"queue-{uuid.uuid4().hex}"
        self.config = RMQConnectionConfig.Builder().set_uri(server.url).build()
        with self.connection() as connection:
            connection.channel().queue_declare(self.name, durable=True)

    def connection(self) -> Any:
        return pika.BlockingConnection(pika.URLParameters(self.server.url))

    def send(self, *bodies: str, ids: list[str] | None = None) -> None:
        """Publish, each with its body as correlation id if nothing else is said."""
        with self.connection() as connection:
            channel = connection.channel()
            channel.confirm_delivery()
            for index, body in enumerate(bodies):
                id = body if ids is None else ids[index]
                properties = pika.BasicProperties(correlation_id=id or None, delivery_mode=2)
                channel.basic_publish("", self.name, body.encode(), properties)

    def left(self) -> list[tuple[str, str | None]]:
        """Take what nobody has taken: bodies and correlation ids."""
        found = []
        with self.connection() as connection:
            channel = connection.channel()
            while (message := channel.basic_get(self.name, auto_ack=True))[0] is not None:
                found.append((message[2].decode(), message[1].correlation_id))
        return found

    def delete(self) -> None:
        with self.connection() as connection:
            connection.channel().queue_delete(self.name)


@pytest.fixture
def queue(rabbitmq: RabbitMQServer) -> Queue:
    return Queue(rabbitmq)
