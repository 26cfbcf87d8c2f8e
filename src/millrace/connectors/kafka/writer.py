"""Writer that sends records to Kafka immediately, for the guarantees none and at-least-once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from millrace.common.sink import SinkWriter, WriterContext
from millrace.common.types.batch import RowBatch
from millrace.connectors.kafka.producer import BatchProducer
from millrace.connectors.kafka.record_serializer import KafkaRecordSerializationSchema
from millrace.connectors.kafka.topic_partitions import TopicPartitions

__all__ = ["KafkaWriter"]

_LAST_SECONDS = 1.0
"""Seconds that a writer without a guarantee has to send its last records."""


class KafkaWriter(SinkWriter[Any]):
    """Sends records as they are written.

    Args:
        waits: whether an epoch ends only when the brokers have all its records.
        partitions: partitions of the topics, for a partitioner.
    """

    def __init__(
        self,
        config: Mapping[str, Any],
        schema: KafkaRecordSerializationSchema,
        waits: bool,
        partitions: TopicPartitions,
        context: WriterContext,
    ) -> None:
        self._schema = schema
        self._waits = waits
        self._partitions = partitions
        named = {"client.id": f"millrace-{context.subtask_index}", **config}
        self._producer = BatchProducer(named)

    def write(self, batch: RowBatch[Any]) -> None:
        self._producer.send(self._schema.serialize_batch(batch, self._partitions.of))

    def flush(self, end_of_input: bool) -> None:
        if self._waits or end_of_input:
            self._producer.flush()

    def close(self) -> None:
        self._producer.close(0.0 if self._waits else _LAST_SECONDS)
