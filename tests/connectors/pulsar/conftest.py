"""Topics of the broker that tests use."""

from __future__ import annotations

import sys
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pulsar
import pytest
from pulsar_standalone import PulsarStandalone

sys.path.insert(0, str(Path(__file__).parent))  # for the job that tests kill


@dataclass
class Topic:
    """A topic of its own for a test."""

    server: PulsarStandalone
    client: Any
    name: str
    partitions: int

    @property
    def full_name(self) -> str:
        return f"persistent://public/default/{self.name}"

    def send(self, values: Sequence[str], partition: int = 0, **more: Any) -> list[Any]:
        """Publish texts to a partition, some together; the ids of the messages."""
        place = f"{self.name}-partition-{partition}" if self.partitions else self.name
        ids: list[Any] = []

        def note(result: Any, sent: Any) -> None:
            assert result == pulsar.Result.Ok
            ids.append(sent)

        producer = self.client.create_producer(
            place, batching_enabled=True, block_if_queue_full=True
        )
        for value in values:
            data = value.encode() if isinstance(value, str) else value
            producer.send_async(data, note, **more)
        producer.flush()
        producer.close()
        assert len(ids) == len(values)
        return ids

    def read(self) -> list[Any]:
        """All messages that are there, partition after partition."""
        found = []
        for place in self.client.get_topic_partitions(self.name):
            reader = self.client.create_reader(place, pulsar.MessageId.earliest)
            while reader.has_message_available():
                found.append(reader.read_next(5_000))
            reader.close()
        return found


class Topics:
    """Makes topics."""

    def __init__(self, server: PulsarStandalone) -> None:
        quiet = pulsar.ConsoleLogger(pulsar.LoggerLevel.Error)
        self.server = server
        self.client = pulsar.Client(server.url, logger=quiet)

    def create(self, partitions: int = 0, name: str = "test") -> Topic:
        """A new empty topic; 0: one without partitions."""
        name = f"{name}-{uuid.uuid4().hex[:12]}"
        self.server.create_topic(name, partitions)
        return Topic(self.server, self.client, name, partitions)


@pytest.fixture
def topics(pulsar_standalone: PulsarStandalone) -> Iterator[Topics]:
    made = Topics(pulsar_standalone)
    yield made
    made.client.close()
