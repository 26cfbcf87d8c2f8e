"""Topics of a real Kafka broker for tests."""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic
from wall_clock import WallClock

__all__ = ["Topics", "WallClock"]

TIMEOUT_S = 60.0


def _producer(bootstrap_servers: str) -> Producer:
    """One whose records stay in order when a new partition refuses the first of them."""
    return Producer(
        {"bootstrap.servers": bootstrap_servers, "enable.idempotence": True, "log_level": 0}
    )


class Topics:
    """Creates, fills and reads topics of a broker."""

    def __init__(self, bootstrap_servers: str) -> None:
        self.bootstrap_servers = bootstrap_servers
        self._admin = AdminClient({"bootstrap.servers": bootstrap_servers, "log_level": 0})
        self._producer = _producer(bootstrap_servers)
        self._numbers = itertools.count()

    def create(
        self,
        partitions: int = 1,
        name: str | None = None,
        copies: int = 1,
        config: dict[str, str] | None = None,
    ) -> str:
        """A new topic."""
        topic = name or f"topic-{time.time_ns()}-{next(self._numbers)}"
        new = NewTopic(
            topic, num_partitions=partitions, replication_factor=copies, config=config or {}
        )
        self._admin.create_topics([new])[topic].result(TIMEOUT_S)
        return topic

    def add_partitions(self, topic: str, total: int) -> None:
        """Grow a topic."""
        self._admin.create_partitions([NewPartitions(topic, total)])[topic].result(TIMEOUT_S)
        # the old one does not know of them for a while
        self._producer = _producer(self.bootstrap_servers)

    def send(self, topic: str, values: Sequence[Any], partition: int = 0, **more: Any) -> None:
        """Write records and wait until the broker has them."""
        for value in values:
            value = value.encode() if isinstance(value, str) else value
            self._producer.produce(topic, value, partition=partition, **more)
        assert self._producer.flush(TIMEOUT_S) == 0

    def send_in_transaction(self, topic: str, values: Sequence[str]) -> None:
        """Write records, and behind them the mark that their transaction is committed."""
        config = {"bootstrap.servers": self.bootstrap_servers, "transactional.id": topic}
        producer = Producer(config)
        producer.init_transactions(TIMEOUT_S)
        producer.begin_transaction()
        for value in values:
            producer.produce(topic, value.encode(), partition=0)
        producer.commit_transaction(TIMEOUT_S)

    def delete_before(self, topic: str, offset: int, partition: int = 0) -> None:
        """Delete the first records of a partition, as retention does."""
        [future] = self._admin.delete_records([TopicPartition(topic, partition, offset)]).values()
        assert future.result(TIMEOUT_S).low_watermark == offset

    def read(self, topic: str, isolation: str = "read_committed") -> list[Any]:
        """All records that a consumer sees now, partition by partition: the messages."""
        config = {
            "bootstrap.servers": self.bootstrap_servers,
            "group.id": "tests-read",
            "isolation.level": isolation,
            "enable.partition.eof": True,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
        }
        consumer = Consumer(config)
        try:
            partitions = list(consumer.list_topics(topic, TIMEOUT_S).topics[topic].partitions)
            consumer.assign([TopicPartition(topic, number, 0) for number in partitions])
            return _until_ends(consumer, len(partitions))
        finally:
            consumer.close()

    def values(self, topic: str, isolation: str = "read_committed") -> list[str]:
        """The values that a consumer sees now, as texts."""
        return [message.value().decode() for message in self.read(topic, isolation)]

    def committed(self, group: str, topic: str, partition: int = 0) -> int:
        """What a group has committed; -1001: nothing."""
        consumer = Consumer({"bootstrap.servers": self.bootstrap_servers, "group.id": group})
        try:
            [found] = consumer.committed([TopicPartition(topic, partition)], TIMEOUT_S)
            return int(found.offset)
        finally:
            consumer.close()

    def commit(self, group: str, topic: str, offset: int, partition: int = 0) -> None:
        """Commit an offset of a group."""
        consumer = Consumer({"bootstrap.servers": self.bootstrap_servers, "group.id": group})
        at = TopicPartition(topic, partition, offset)
        consumer.commit(offsets=[at], asynchronous=False)
        consumer.close()


def _until_ends(consumer: Consumer, partitions: int) -> list[Any]:
    found: list[Any] = []
    ends: set[int] = set()
    until = time.monotonic() + TIMEOUT_S
    while len(ends) < partitions:
        assert time.monotonic() < until, "the topic has no end"
        for message in consumer.consume(10_000, timeout=0.2):
            if message.error() is None:
                found.append(message)
            elif message.error().name() == "_PARTITION_EOF":
                ends.add(message.partition())
    return sorted(found, key=lambda message: (message.partition(), message.offset()))
