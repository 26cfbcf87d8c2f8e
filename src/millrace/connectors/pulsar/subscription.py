"""The subscription of a Pulsar source, which makes the brokers keep unread messages."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from millrace.connectors.pulsar.client import explained, import_pulsar
from millrace.connectors.pulsar.message_position import MessagePosition

__all__ = ["Subscription", "ask"]

T = TypeVar("T")

PATIENCE_S = 30.0
_MOMENT_S = 0.2
_PASSING = frozenset(
    {
        "AlreadyClosed",
        "BrokerMetadataError",
        "BrokerPersistenceError",
        "ConnectError",
        "ConsumerBusy",
        "Disconnected",
        "LookupError",
        "NotConnected",
        "ProducerBusy",
        "ServiceUnitNotReady",
        "Timeout",
        "TooManyLookupRequestException",
        "UnknownError",
    }
)


def ask(request: Callable[[], T], topic: str, doing: str) -> T:
    """Send a request to the brokers and return the response; the request is repeated while they are
    not ready yet.

    Raises:
        PulsarError: the request is refused, or not answered for half a minute.
    """
    until = time.monotonic() + PATIENCE_S
    while True:
        try:
            return request()
        except Exception as error:  # whatever kinds the client has
            if type(error).__name__ not in _PASSING or time.monotonic() > until:
                raise explained(error, topic, doing) from error
            time.sleep(_MOMENT_S)


class Subscription:
    """Holds a subscription to each partition without receiving messages from it.

    Readers read by themselves, from the positions of checkpoints, so that one that is still alive
    somewhere does not keep another out.

    Args:
        consumer_name: name in the brokers' admin interface; None if the brokers choose it.
    """

    def __init__(self, client: Any, name: str, consumer_name: str | None = None) -> None:
        self._client = client
        self._name = name
        self._consumer_name = consumer_name
        self._consumers: dict[str, Any] = {}

    def require(self, topic: str, latest: bool) -> None:
        """Subscribe to a partition, unless it is subscribed already.

        Args:
            latest: whether a new subscription begins after the last message, or with the first.

        Raises:
            PulsarError: the brokers refuse.
        """
        if topic in self._consumers:
            return
        pulsar = import_pulsar()
        positions = pulsar.InitialPosition
        self._consumers[topic] = ask(
            lambda: self._client.subscribe(
                topic,
                self._name,
                receiver_queue_size=0,
                consumer_name=self._consumer_name,
                initial_position=positions.Latest if latest else positions.Earliest,
            ),
            topic,
            "read",
        )

    def last(self, topic: str) -> MessagePosition:
        """Position of a partition's last message, or the position before all messages if the
        partition is empty.

        Raises:
            PulsarError: the brokers do not tell.
        """
        consumer = self._consumers[topic]
        message_id = ask(consumer.get_last_message_id, topic, "find the end of")
        return MessagePosition.of(message_id)

    def acknowledge(self, positions: Mapping[str, MessagePosition]) -> None:
        """Acknowledge messages up to the given positions; a failure is only logged."""
        for topic, position in positions.items():
            done = position.whole_entry()
            if topic not in self._consumers or done is None:
                continue
            try:
                self._consumers[topic].acknowledge_cumulative(done.message_id())
            except Exception as error:  # whatever kinds the client has
                logger = logging.getLogger("millrace.source")
                logger.warning("%s: cannot acknowledge now: %s", topic, error)
