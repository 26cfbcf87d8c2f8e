"""Records of an epoch as part of its checkpoint, for the exactly-once Kafka sink."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from millrace.common.sink import SinkWriter, WriterContext, WriterEpoch
from millrace.common.types.batch import RowBatch
from millrace.connectors.kafka.client import KafkaError
from millrace.connectors.kafka.record_serializer import (
    KafkaRecordSerializationSchema,
    Outgoing,
)
from millrace.connectors.kafka.topic_partitions import TopicPartitions
from millrace.connectors.staged_epoch import StagedEpoch

__all__ = ["StagingWriter", "require_small"]

_OVERHEAD = 36
"""Bytes that the client adds to every record before it compares it with its limit."""
_HEADER_OVERHEAD = 10
"""At most, for the two lengths of a header."""


class StagingWriter(SinkWriter[Any]):
    """Keeps an epoch's records for the committer.

    Args:
        largest: bytes of the largest record that the producer will take.
        partitions: partitions of the topics, for a partitioner.
    """

    def __init__(
        self,
        schema: KafkaRecordSerializationSchema,
        largest: int,
        partitions: TopicPartitions,
        context: WriterContext,
    ) -> None:
        self._schema = schema
        self._partitions = partitions
        self._largest = largest
        self._run_id = context.run_id
        self._epoch = 0
        self._batches: list[Outgoing] = []

    def begin_epoch(self, epoch: WriterEpoch) -> None:
        self._epoch = epoch.number

    def write(self, batch: RowBatch[Any]) -> None:
        """Add a batch to the staged records.

        Raises:
            KafkaError: a record is too large.
        """
        outgoing = self._schema.serialize_batch(batch, self._partitions.of)
        require_small(outgoing, self._largest)
        self._batches.append(outgoing)

    def prepare_commit(self, end_of_input: bool) -> Sequence[tuple[Any, ...]]:
        if not self._batches:
            return ()
        merged: Outgoing = {}
        for outgoing in self._batches:
            for topic, messages in outgoing.items():
                merged.setdefault(topic, []).extend(messages)
        self._batches = []
        return (tuple(StagedEpoch.pack(self._run_id, self._epoch, merged)),)


def require_small(outgoing: Outgoing, largest: int) -> None:
    """Refuse records that are too big for the producer to send. Once they are in a checkpoint, it
    is too late to refuse them.

    Args:
        largest: bytes of the largest record that the producer will take.

    Raises:
        KafkaError: a record is too large.
    """
    for topic, messages in outgoing.items():
        size = max(map(_size, messages), default=0)
        if size > largest:
            raise KafkaError(
                f"a record for topic '{topic}' has {size} bytes; the producer sends at most "
                f"{largest}: set_property('message.max.bytes', ...), and the topic's "
                "max.message.bytes"
            )


def _size(message: dict[str, Any]) -> int:
    """Size of a message in bytes, as the client counts it, or slightly more."""
    size = _OVERHEAD + len(message["value"] or b"") + len(message.get("key") or b"")
    for name, value in message.get("headers", ()):
        size += _HEADER_OVERHEAD + len(name.encode()) + len(value or b"")
    return size
