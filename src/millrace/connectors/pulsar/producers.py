"""Producers for the partitions of topics, and the outcome of their messages."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from millrace.common.errors import JobDefinitionError
from millrace.connectors.pulsar.client import PulsarProperties, explained, import_pulsar
from millrace.connectors.pulsar.message import Outgoing
from millrace.connectors.pulsar.subscription import ask

__all__ = ["PRODUCER_PROPERTIES", "TOGETHER", "Producers", "exact_options", "sending_options"]

TOGETHER = 1_000
"""Messages that an exactly-once sink sends together at most; so many are sent at once."""
_PENDING = 20_000
_NEVER_MS = 24 * 60 * 60 * 1_000
_LARGEST_BATCH = 5 << 20
SEND_TIMEOUT = "pulsar.producer.sendTimeoutMs"
PENDING = "pulsar.producer.maxPendingMessages"
BATCHING = "pulsar.producer.batchingEnabled"
BATCH_MESSAGES = "pulsar.producer.batchingMaxMessages"
BATCH_BYTES = "pulsar.producer.batchingMaxBytes"
BATCH_DELAY = "pulsar.producer.batchingMaxPublishDelayMicros"
COMPRESSION = "pulsar.producer.compressionType"
PRODUCER_PROPERTIES = (
    *(SEND_TIMEOUT, PENDING, BATCHING, BATCH_MESSAGES, BATCH_BYTES, BATCH_DELAY, COMPRESSION),
)


def sending_options(properties: PulsarProperties) -> dict[str, Any]:
    """Options of producers whose client chooses the batches.

    Raises:
        JobDefinitionError: a property is not a number, or no compression.
    """
    return {
        **_common_options(properties),
        "max_pending_messages": properties.number(PENDING, _PENDING),
        "batching_enabled": properties.true(BATCHING, default=True),
        "batching_max_messages": properties.number(BATCH_MESSAGES, 1_000),
        "batching_max_allowed_size_in_bytes": properties.number(BATCH_BYTES, 128 << 10),
        "batching_max_publish_delay_ms": max(1, properties.number(BATCH_DELAY, 10_000) // 1_000),
    }


def exact_options(properties: PulsarProperties, together: bool) -> dict[str, Any]:
    """Options of producers that send exactly the batches they are given.

    Raises:
        JobDefinitionError: a property is not a number, or no compression.
    """
    options = {**_common_options(properties), "max_pending_messages": _PENDING}
    if not together:
        return {**options, "batching_enabled": False}
    return {
        **options,
        "batching_enabled": True,
        "batching_max_messages": TOGETHER,
        "batching_max_allowed_size_in_bytes": _LARGEST_BATCH,
        "batching_max_publish_delay_ms": _NEVER_MS,
    }


def _common_options(properties: PulsarProperties) -> dict[str, Any]:
    kinds = import_pulsar().CompressionType
    name = properties.values.get(COMPRESSION, "NONE").upper()
    known = {kind.upper(): kind for kind in ("NONE", "LZ4", "ZLib", "ZSTD", "SNAPPY")}
    if name not in known:
        raise JobDefinitionError(f"{COMPRESSION} is one of {', '.join(known)}, not {name}")
    return {
        "compression_type": getattr(kinds, known[name]),
        "send_timeout_millis": properties.number(SEND_TIMEOUT, 30_000),
    }


class Producers:
    """Sends many messages at a time, and waits for the brokers' acknowledgements.

    Args:
        options: arguments of ``pulsar.Client.create_producer``.
    """

    def __init__(self, client: Any, options: Mapping[str, Any]) -> None:
        self._pulsar = import_pulsar()
        self._client = client
        self._options = options
        self._producers: dict[tuple[str, str | None], Any] = {}
        self._refused: tuple[str, Any] | None = None

    def of(self, topic: str, name: str | None = None) -> Any:
        """Producer of a partition.

        Args:
            name: name of the producer; None if the brokers choose it.

        Raises:
            PulsarError: the brokers refuse.
        """
        producer = self._producers.get((topic, name))
        if producer is None:
            producer = self._producers[topic, name] = ask(
                lambda: self._client.create_producer(
                    topic,
                    producer_name=name,
                    block_if_queue_full=True,
                    **self._options,
                ),
                topic,
                "write to",
            )
        return producer

    def send(self, messages: Outgoing, name: str | None = None) -> None:
        """Pass messages to the client, which sends them in the background."""
        for topic, sent in messages.items():
            send, noted = self.of(topic, name).send_async, self._noting(topic)
            for message in sent:
                try:
                    send(callback=noted, **message)
                except Exception as error:  # whatever kinds the client has
                    raise explained(error, topic, "write to") from error
        self.check()

    def _noting(self, topic: str) -> Any:
        done = self._pulsar.Result.Ok

        def note(result: Any, message_id: Any) -> None:
            if result != done and self._refused is None:
                self._refused = topic, result

        return note

    def flush(self) -> None:
        """Wait until the brokers have acknowledged all messages.

        Raises:
            PulsarError: a message was not taken.
        """
        for (topic, _), producer in self._producers.items():
            try:
                producer.flush()
            except Exception as error:  # whatever kinds the client has
                self.check()
                raise explained(error, topic, "write to") from error
        self.check()

    def check(self) -> None:
        """Raise a PulsarError if a message was rejected."""
        if self._refused is not None:
            topic, result = self._refused
            raise explained(
                RuntimeError(f"a message was not accepted: {result}"), topic, "write to"
            )

    def close(self) -> None:
        """Close all producers, so that their names can be used again."""
        for producer in self._producers.values():
            with suppress(Exception):  # whatever kinds the client has: the brokers may be away
                producer.close()
        self._producers.clear()
        self._refused = None
