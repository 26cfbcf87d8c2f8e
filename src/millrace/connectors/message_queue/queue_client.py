"""A connection to a message queue, with the messages that have arrived but are not acknowledged
yet.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

__all__ = ["Delivery", "QueueClient"]


class Delivery(NamedTuple):
    """A message as the client received it."""

    tag: Any
    """Tag by which this connection acknowledges the message."""
    message_id: str | None
    """Id by which a redelivered message is recognised, if the source has such ids."""
    body: bytes
    message: Any
    """The client's own."""


class QueueClient(ABC):
    """Receives messages in a thread of its own, up to the limit of unacknowledged messages.

    What was not acknowledged when it is closed, or lost, comes again to the next one.
    """

    def __init__(self) -> None:
        self.arrived: deque[Delivery] = deque()
        """Filled by the client's thread."""
        self.wake_up: Callable[[], None] | None = None
        """Called in the client's thread when a message has arrived, or none can arrive any more."""
        self.failure: Exception | None = None
        """Reason why no more can arrive, of the connector's own kind; None if there is none."""

    def deliver(self, delivery: Delivery) -> None:
        """Add a message, in the client's thread."""
        self.arrived.append(delivery)
        if self.wake_up is not None:
            self.wake_up()

    def fail(self, error: Exception) -> None:
        """Note in the client's thread that no more messages can arrive."""
        self.failure = error
        if self.wake_up is not None:
            self.wake_up()

    def take(self, count: int) -> list[Delivery]:
        """At most ``count`` of the received messages, oldest first.

        Raises:
            ConnectorError: the connection is lost.
        """
        if self.failure is not None:
            raise self.failure
        arrived = self.arrived
        return [arrived.popleft() for _ in range(min(count, len(arrived)))]

    @abstractmethod
    def acknowledge(self, tags: Sequence[Any]) -> None:
        """Acknowledge messages to the queue. This includes all messages that `take` returned before
        the last of the given messages.

        Raises:
            ConnectorError: the connection is lost.
        """

    @abstractmethod
    def close(self) -> None:
        """Disconnect."""
