"""Commit marks of a Kafka sink. The sink has a topic of its own, whose last record tells which
epochs are committed.

A transaction that writes an epoch's records also writes the epoch's number to a compacted topic of
one partition. Both become visible together or not at all, so that topic tells whether the records
are committed.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from millrace.connectors.kafka.client import (
    PATIENCE_S,
    KafkaError,
    ask,
    create_admin,
    create_consumer,
    import_confluent_kafka,
    is_transient,
)
from millrace.connectors.kafka.record_serializer import Outgoing
from millrace.connectors.staged_epoch import CommittedEpochs

__all__ = ["CommitMarker", "MarksTopicError"]

_KEY = b"epochs"
_FIRST_LOOK = 32
"""Offsets from the end; each transaction takes two."""
_TOPIC = {"cleanup.policy": "compact", "segment.bytes": str(16 << 20)}


class MarksTopicError(KafkaError):
    """The topic of a sink's commit marks cannot be created, or has the wrong settings."""


class CommitMarker:
    """The last committed epoch of each run of a job, for one sink.

    Args:
        config: configuration of a client.
        topic: topic of the marks, to which no other sink writes; created if it is missing.

    Attributes:
        epochs: the committed epochs, as of `load`.
    """

    def __init__(self, config: Mapping[str, Any], topic: str) -> None:
        self._kafka = import_confluent_kafka()
        self._config = config
        self._topic = topic
        self.epochs = CommittedEpochs({})

    def load(self) -> None:
        """Read the marks from the brokers, while no transaction of the sink is open.

        Raises:
            KafkaException: they do not answer.
            MarksTopicError: there is no topic for marks and none can be made, or it is not the
                sink's.
        """
        ask(self._require_topic)
        ask(self._require_compaction)
        config = {
            "group.id": self._topic,
            **self._config,
            "enable.auto.commit": "false",
            "enable.partition.eof": "true",
            "isolation.level": "read_committed",
        }
        consumer = create_consumer(config)
        try:
            self.epochs = self._newest(consumer)
        finally:
            consumer.close()

    def _require_topic(self) -> None:
        administration: Any = import_module("confluent_kafka.admin")
        admin = create_admin(self._config)
        new = administration.NewTopic(
            self._topic, num_partitions=1, replication_factor=-1, config=_TOPIC
        )
        try:
            admin.create_topics([new])[self._topic].result(PATIENCE_S)
        except self._kafka.KafkaException as error:
            if error.args[0].code() == self._kafka.KafkaError.TOPIC_ALREADY_EXISTS:
                return
            if is_transient(error.args[0]):
                raise
            if self._topic in admin.list_topics(timeout=PATIENCE_S).topics:
                return  # who may not create topics is not told that it exists
            raise MarksTopicError(
                f"the sink records its commits in topic '{self._topic}', which cannot be "
                f"created: {error.args[0].str()}. Create it with one partition and "
                "cleanup.policy=compact"
            ) from error

    def _require_compaction(self) -> None:
        """Refuse a topic without compaction, which would lose the mark of a sink that is idle
        for long."""
        administration: Any = import_module("confluent_kafka.admin")
        admin = create_admin(self._config)
        topic = administration.ConfigResource(administration.ResourceType.TOPIC, self._topic)
        try:
            [answer] = admin.describe_configs([topic], request_timeout=PATIENCE_S).values()
            policy = answer.result(PATIENCE_S)["cleanup.policy"].value
        except self._kafka.KafkaException as error:
            if error.args[0].code() in (
                self._kafka.KafkaError.TOPIC_AUTHORIZATION_FAILED,
                self._kafka.KafkaError.CLUSTER_AUTHORIZATION_FAILED,
            ):
                return  # who made the topic is trusted to have followed the page
            raise
        if policy != "compact":
            raise MarksTopicError(
                f"topic '{self._topic}' has cleanup.policy={policy}: it would lose the "
                "sink's commit marks, and records could be written twice. Set "
                "cleanup.policy=compact"
            )

    def _newest(self, consumer: Any) -> CommittedEpochs:
        """The last mark, searched near the end of the topic first, then further back."""
        place = self._kafka.TopicPartition(self._topic, 0)
        first, end = ask(lambda: consumer.get_watermark_offsets(place, timeout=PATIENCE_S))
        back = _FIRST_LOOK
        while True:
            start = max(first, end - back)
            consumer.assign([self._kafka.TopicPartition(self._topic, 0, start)])
            mark = self._last_of(consumer)
            if mark is not None or start == first:
                return self._decoded(mark)
            back *= 32

    def _last_of(self, consumer: Any) -> bytes | None:
        """Value of the last record before the end of the topic; None if there is none."""
        last, until = None, time.monotonic() + PATIENCE_S
        while time.monotonic() < until:
            for message in consumer.consume(1_000, timeout=0.1):
                error = message.error()
                if error is None:
                    last, until = message.value(), time.monotonic() + PATIENCE_S
                elif error.code() == self._kafka.KafkaError._PARTITION_EOF:
                    return last
                elif not is_transient(error):
                    raise KafkaError(f"topic '{self._topic}' cannot be read: {error.str()}")
        raise self._kafka.KafkaException(
            self._kafka.KafkaError(
                self._kafka.KafkaError._TIMED_OUT,
                f"the end of topic '{self._topic}' was not reached",
            )
        )

    def _decoded(self, mark: bytes | None) -> CommittedEpochs:
        try:
            return CommittedEpochs.decode(mark)
        except ValueError as error:
            raise MarksTopicError(
                f"another program than a Kafka sink writes to topic '{self._topic}': choose "
                "another set_transactional_id_prefix()"
            ) from error

    def record(self, epochs: CommittedEpochs) -> Outgoing:
        """Marker record for the transaction that commits the given epochs."""
        return {self._topic: [{"key": _KEY, "value": epochs.encode(), "partition": 0}]}
