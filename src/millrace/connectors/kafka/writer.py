"""Writes records to Kafka at once: guarantees none and at-least-once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from millrace.common.sink import SinkWriter, WriterContext
from millrace.common.types.batch import RowBatch
from millrace.connectors.kafka.client import KafkaError
from millrace.connectors.kafka.producer import BatchProducer
from millrace.connectors.kafka.record_serializer import KafkaRecordSerializationSchema
from millrace.connectors.kafka.topic_partitions import TopicPartitions

__all__ = ["KafkaWriter"]

_PRODUCER = "kafka-producer"


class KafkaWriter(SinkWriter[Any]):
    """Sends as it is written to; its producer goes on from epoch to epoch.

    Args:
        waits: whether an epoch ends only when the brokers have all its records.
        partitions: of the topics, for a partitioner.
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
        self._shared = context.shared
        producer = self._shared.get(_PRODUCER)
        if producer is None:
            named = {"client.id": f"millrace-{context.subtask_index}", **config}
            producer = self._shared[_PRODUCER] = BatchProducer(named)
        elif waits:
            producer.forget()  # of an attempt that was given up
        self._producer: BatchProducer = producer

    def write(self, batch: RowBatch[Any]) -> None:
        outgoing = self._schema.serialize_batch(batch, self._partitions.of)
        self._sending(lambda: self._producer.send(outgoing))

    def prepare_commit(self, end_of_input: bool) -> Sequence[Any]:
        if self._waits or end_of_input:
            self._sending(self._producer.flush)
        return ()

    def _sending(self, send: Any) -> None:
        try:
            send()
        except KafkaError:
            self._shared.pop(_PRODUCER, None)  # the next attempt begins with a new one
            raise
