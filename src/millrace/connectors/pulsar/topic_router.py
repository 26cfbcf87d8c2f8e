"""Choice of the partition for each message of a Pulsar sink. Flink docs: "Pulsar", Topic
Routing."""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any

from millrace.connectors.pulsar.client import PulsarError
from millrace.connectors.pulsar.subscription import ask

__all__ = ["PartitionRouter", "TopicRouter", "TopicRoutingMode"]

TopicRouter = Callable[[str | None, Sequence[str]], str]
"""From a message's key and the names of all partitions to one of them."""
_FRESH_S = 60.0


class TopicRoutingMode(Enum):
    """Ways to choose partitions."""

    ROUND_ROBIN = "round-robin"
    """One after the other."""
    MESSAGE_KEY_HASH = "message-key-hash"
    """One for each key; messages without a key as above."""
    CUSTOM = "custom"
    """The function given to `PulsarSinkBuilder.set_topic_router` chooses."""


class PartitionRouter:
    """Chooses partitions for one writer; looks them up once a minute."""

    def __init__(self, client: Any, topics: Sequence[str], choose: TopicRouter | None) -> None:
        self._client = client
        self._topics = topics
        self._choose = choose
        self._partitions: list[str] = []
        self._asked = 0.0

    def partitions(self) -> list[str]:
        """Full names of all partitions.

        Raises:
            PulsarError: a topic is not there, or nobody answers.
        """
        now = time.monotonic()
        if not self._partitions or now - self._asked > _FRESH_S:
            partitions: list[str] = []
            for topic in self._topics:
                partitions += ask(
                    lambda topic=topic: self._client.get_topic_partitions(topic),  # type: ignore[misc]
                    topic,
                    "find the partitions of",
                )
            self._partitions, self._asked = partitions, now
        return self._partitions

    def route(self, mode: TopicRoutingMode, first: int) -> Callable[[str | None], str]:
        """Function from a key to a partition, for one batch.

        Args:
            first: index of the first partition of the round, counted on through all partitions.
        """
        partitions, turn = self.partitions(), first

        def by_turn(key: str | None) -> str:
            nonlocal turn
            partition = partitions[turn % len(partitions)]
            turn += 1
            return partition

        def by_key(key: str | None) -> str:
            if not key:
                return by_turn(key)
            return partitions[zlib.crc32(key.encode()) % len(partitions)]

        def chosen(key: str | None) -> str:
            assert self._choose is not None
            partition = self._choose(key, partitions)
            if partition not in partitions:
                raise PulsarError(
                    f"the topic router has chosen {partition!r}, which is not one of the "
                    f"partitions: {', '.join(partitions[:3])}, ..."
                )
            return partition

        if mode is TopicRoutingMode.CUSTOM:
            return chosen
        return by_key if mode is TopicRoutingMode.MESSAGE_KEY_HASH else by_turn
