"""A Kafka producer that takes batches and records delivery failures."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from millrace.connectors.kafka.client import KafkaError, create_producer, import_confluent_kafka
from millrace.connectors.kafka.record_serializer import Outgoing

__all__ = ["BatchProducer"]

_CHUNK = 10_000
_QUEUE_FULL_WAIT_S = 0.05
_MOMENT_S = 0.001
_MOMENTS_S = 0.05
"""Time in which `BatchProducer.flush` looks every moment: the client itself looks every 10 ms."""
_LOOK_S = 0.5
"""Time between two looks for a message that was not delivered, while `BatchProducer` flushes."""
_DEFAULTS = {
    "acks": "all",
    "enable.idempotence": "true",
    "linger.ms": "0",
    "partitioner": "murmur2_random",
}
"""Unless properties say otherwise; the partitioner is that of Kafka's Java clients. Records come in
batches that `execution.buffer-timeout` has filled, so waiting for more would only delay them: a
record at a time took 4 ms from topic to topic instead of 8.7, and full batches were as fast."""


class BatchProducer:
    """Sends messages in the background.

    Args:
        config: configuration of the producer, without the options that this class sets.
    """

    def __init__(self, config: Mapping[str, Any]) -> None:
        self._kafka = import_confluent_kafka()
        self._undelivered: Any = None
        """The first message that was not delivered, and why."""
        own = {
            "delivery.report.only.error": True,
            "on_delivery": self._note,
        }
        self.client = create_producer({**_DEFAULTS, **config, **own})

    def _note(self, error: Any, message: Any) -> None:
        if error is None:
            return
        # what is purged, is so because of another record
        known = self._undelivered
        if known is None or known[1].code() == self._kafka.KafkaError._PURGE_QUEUE:
            self._undelivered = (message, error)

    def send(self, outgoing: Outgoing) -> None:
        """Pass messages to the client, which sends them in the background.

        Raises:
            KafkaError: the client refuses one, or could not deliver an earlier one.
        """
        for topic, messages in outgoing.items():
            if any("timestamp" in m or "headers" in m or "partition" in m for m in messages):
                self._send_one_by_one(topic, messages)
            else:
                for start in range(0, len(messages), _CHUNK):
                    self._send_chunk(topic, messages[start : start + _CHUNK])
        self._serve(lambda: self.client.poll(0))
        self.check()

    def _send_chunk(self, topic: str, messages: list[dict[str, Any]]) -> None:
        while self.client.produce_batch(topic, messages) < len(messages):
            messages = [message for message in messages if "_error" in message]
            for message in messages:
                error = message.pop("_error")
                if error.code() != self._kafka.KafkaError._QUEUE_FULL:
                    raise self._refused(topic, error)
            self._serve(lambda: self.client.poll(_QUEUE_FULL_WAIT_S))

    def _send_one_by_one(self, topic: str, messages: list[dict[str, Any]]) -> None:
        """Hand over each message separately, which timestamps, headers and partitions require."""
        produce = self.client.produce
        for message in messages:
            if "headers" in message:
                message["headers"] = [(name, value) for name, value in message["headers"]]
            while True:
                try:
                    produce(topic, **message)
                except BufferError:
                    self._serve(lambda: self.client.poll(_QUEUE_FULL_WAIT_S))
                except self._kafka.KafkaException as error:
                    raise self._refused(topic, error.args[0]) from error
                else:
                    break

    def _refused(self, topic: str, error: Any) -> KafkaError:
        """The error of a message that the client does not take. A transaction takes no more after
        a message that was not delivered: then it is the error of that one."""
        self._serve(lambda: self.client.poll(_QUEUE_FULL_WAIT_S))
        if self._undelivered is not None:
            return self._not_delivered()
        return KafkaError(f"a record for topic '{topic}' cannot be sent: {error.str()}")

    def flush(self) -> None:
        """Wait until the brokers have all messages, or one could not be delivered; the client gives
        up after ``delivery.timeout.ms``.

        Raises:
            KafkaError: a message could not be delivered.
        """
        self._serve(self._wait)
        self.check()

    def close(self, patience: float = 0.0) -> None:
        """End the client and its threads. Messages that are not sent yet are dropped; otherwise
        they would arrive after the records of a restarted job.

        Args:
            patience: seconds in which it may send what waits.
        """
        # the client refers to this object as well, and a worker's cycles are never collected
        client, self.client = self.client, None
        if client is None:
            return
        with suppress(Exception):  # a fatal error was raised before, or concerns nobody any more
            client.flush(patience)
            client.purge()
            client.flush(0)  # reports what was purged, for which the client keeps this object

    def _wait(self) -> None:
        until = time.monotonic() + _MOMENTS_S
        wait = _MOMENT_S
        while self.client.flush(wait) and self._undelivered is None:
            if time.monotonic() > until:
                wait = _LOOK_S

    def _serve(self, call: Callable[[], Any]) -> None:
        """Make a call that serves callbacks, in which the client may raise a fatal error."""
        try:
            call()
        except SystemError as error:
            raise KafkaError(f"the producer has failed: {error.__cause__}") from error

    def check(self) -> None:
        """Raise a KafkaError if any message was not delivered."""
        if self._undelivered is not None:
            raise self._not_delivered()

    def _not_delivered(self) -> KafkaError:
        message, error = self._undelivered
        return KafkaError(
            f"a record for topic '{message.topic()}' was not delivered: {error.str()}"
            + self._advice(error)
        )

    def _advice(self, error: Any) -> str:
        kinds = self._kafka.KafkaError
        if error.code() not in (kinds.INVALID_RECORD, kinds.INVALID_TIMESTAMP):
            return ""
        return (
            ". Its event time may be too far from the broker's clock: see the topic's "
            "message.timestamp.after.max.ms and message.timestamp.before.max.ms"
        )
