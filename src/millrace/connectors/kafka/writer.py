"""Writer that sends records to Kafka immediately, for the guarantees none and at-least-once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from millrace.common.sink import WriterContext
from millrace.common.types.batch import Batch, RowBatch
from millrace.connectors.kafka.producer import BatchProducer
from millrace.connectors.kafka.record_serializer import (
    KafkaRecordSerializationSchema,
    Outgoing,
)
from millrace.connectors.kafka.staged_records import require_small
from millrace.connectors.kafka.topic_partitions import TopicPartitions
from millrace.runtime.write_ahead import LoggableWriter

__all__ = ["KafkaWriter"]

_LAST_SECONDS = 1.0
"""Seconds that a writer without a guarantee has to send its last records."""


class KafkaWriter(LoggableWriter):
    """Sends records as they are written.

    Args:
        waits: whether an epoch ends only when the brokers have all its records.
        largest: bytes of the largest record that the producer will take.
        partitions: partitions of the topics, for a partitioner.
    """

    def __init__(
        self,
        config: Mapping[str, Any],
        schema: KafkaRecordSerializationSchema,
        waits: bool,
        largest: int,
        partitions: TopicPartitions,
        context: WriterContext,
    ) -> None:
        self._schema = schema
        self._waits = waits
        self._largest = largest
        self._partitions = partitions
        named = {"client.id": f"millrace-{context.subtask_index}", **config}
        self._producer = BatchProducer(named)

    def write(self, batch: RowBatch[Any]) -> None:
        self._producer.send(self._serialized(batch))

    def entries(self, batch: Batch) -> Outgoing:
        outgoing = self._serialized(batch)
        require_small(outgoing, self._largest)
        return outgoing

    def write_entries(self, entries: Outgoing) -> None:
        self._producer.send(entries)

    def _serialized(self, batch: Batch) -> Outgoing:
        assert isinstance(batch, RowBatch)
        return self._schema.serialize_batch(batch, self._partitions.of)

    def flush(self, end_of_input: bool) -> None:
        if self._waits or end_of_input:
            self._producer.flush()

    def close(self) -> None:
        self._producer.close(0.0 if self._waits else _LAST_SECONDS)
