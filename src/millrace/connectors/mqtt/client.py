"""A subscriber with a persistent session: the server redelivers unacknowledged messages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from millrace.connectors.message_queue.queue_client import Delivery, QueueClient
from millrace.connectors.mqtt.connection import MqttConnection, MqttError, MqttMessage, shown_url

__all__ = ["MqttSubscriber"]


class MqttSubscriber(QueueClient):
    """Receives the messages of a session, with quality of service 1.

    Args:
        client_id: the name of the session.
        topics: filters, such as ``sensors/+/temperature`` or ``$share/group/orders``.
        message_id: function that returns the id of a message; None if messages have no ids.

    Raises:
        MqttError: the server cannot be reached, or refuses the client or a topic.
    """

    def __init__(
        self,
        url: str,
        client_id: str,
        topics: Sequence[str],
        message_id: Callable[[MqttMessage], str] | None,
    ) -> None:
        super().__init__()
        self._place = f"session '{client_id}' of MQTT at {shown_url(url)}"
        self._message_id = message_id
        self._connection = MqttConnection(url, client_id, True, self._on_lost, self._on_message)
        refusal = self._connection.subscribe(list(topics))
        if refusal:
            self.close()
            raise MqttError(f"{self._place} cannot subscribe to {', '.join(topics)}: {refusal}")

    def _on_lost(self, reason: str) -> None:
        self.fail(MqttError(f"{self._place} is lost: {reason}"))

    def _on_message(self, received: Any) -> None:
        message = MqttMessage(
            received.topic, received.payload, received.retain, received.properties
        )
        try:
            id = None if self._message_id is None else self._message_id(message)
        except Exception as error:  # of the user's function: in this thread nobody would see it
            self.fail(
                MqttError(
                    f"set_message_id() failed for a message of {self._place}: "
                    f"{type(error).__name__}: {error}"
                )
            )
            return
        # what has quality of service 0 was sent so, and is not acknowledged
        tag = received.mid if received.qos else None
        self.deliver(Delivery(tag, id, message.payload, message))

    def acknowledge(self, tags: Sequence[Any]) -> None:
        if self.failure is not None:
            raise self.failure
        for mid in tags:
            if mid is not None:
                self._connection.client.ack(mid, 1)

    def close(self) -> None:
        self._connection.close()
