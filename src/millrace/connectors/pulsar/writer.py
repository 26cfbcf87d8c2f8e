"""Writers of Pulsar messages: immediately, or staged in the checkpoint until it is complete."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from millrace.common.serialization import SerializationSchema
from millrace.common.sink import DeliveryGuarantee, SinkWriter, WriterContext, WriterEpoch
from millrace.common.types.batch import RowBatch
from millrace.connectors.pulsar.client import PulsarError, PulsarProperties, create_client
from millrace.connectors.pulsar.message import Outgoing, PulsarSerializationSchema, outgoing
from millrace.connectors.pulsar.producers import TOGETHER, Producers, sending_options
from millrace.connectors.pulsar.topic_router import PartitionRouter, TopicRouter, TopicRoutingMode
from millrace.connectors.staged_epoch import StagedEpoch

__all__ = ["PulsarWriter", "PulsarWriting", "PulsarStagingWriter"]

_LARGEST = 5 << 20
"""Bytes of a message that brokers take by default."""
_TOGETHER_BYTES = 4 << 20
"""Bytes of messages that are sent together, which brokers take as one."""


@dataclass(frozen=True)
class PulsarWriting:
    """Settings of a Pulsar sink."""

    topics: tuple[str, ...]
    schema: SerializationSchema[Any] | PulsarSerializationSchema[Any]
    guarantee: DeliveryGuarantee
    mode: TopicRoutingMode
    router: TopicRouter | None
    delay: int | None
    """Milliseconds."""
    producer_name: str | None
    properties: PulsarProperties


class _Outlet(SinkWriter[Any]):
    """Makes Pulsar messages from records."""

    def __init__(self, writing: PulsarWriting, context: WriterContext) -> None:
        self._writing = writing
        self._subtask = context.subtask_index
        self._run_id = context.run_id
        self._epoch = 0
        self._current_time = context.current_time
        self._client = create_client(writing.properties)
        self._router = PartitionRouter(self._client, writing.topics, writing.router)
        self._turn = context.subtask_index
        self._sent = context.metrics.counter("numRecordsSend")

    def begin_epoch(self, epoch: WriterEpoch) -> None:
        self._epoch = epoch.number
        self._turn = self._subtask

    def close(self) -> None:
        self._client.close()

    def _outgoing(self, batch: RowBatch[Any]) -> Outgoing:
        writing = self._writing
        at = None if writing.delay is None else self._current_time() + writing.delay
        route = self._router.route(writing.mode, self._turn)
        self._turn += len(batch.values)
        self._sent.inc(len(batch.values))
        return outgoing(batch, writing.schema, route, at)


class PulsarWriter(_Outlet):
    """Sends messages as they are written; with at-least-once, an epoch ends when the brokers
    have all."""

    def __init__(self, writing: PulsarWriting, context: WriterContext) -> None:
        super().__init__(writing, context)
        self._producers = Producers(self._client, sending_options(writing.properties))

    def write(self, batch: RowBatch[Any]) -> None:
        self._producers.send(self._outgoing(batch))

    def flush(self, end_of_input: bool) -> None:
        if self._writing.guarantee is DeliveryGuarantee.AT_LEAST_ONCE or end_of_input:
            self._producers.flush()

    def close(self) -> None:
        self._producers.close()
        super().close()


class PulsarStagingWriter(_Outlet):
    """Stages an epoch's messages for the committer."""

    def __init__(self, writing: PulsarWriting, context: WriterContext) -> None:
        super().__init__(writing, context)
        self._messages: Outgoing = {}
        self._largest = 1
        """Bytes of the largest message."""

    def write(self, batch: RowBatch[Any]) -> None:
        """Add a batch to the staged messages.

        Raises:
            PulsarError: a message is too large: later it would be too late.
        """
        for topic, messages in self._outgoing(batch).items():
            largest = max((len(message["content"] or b"") for message in messages), default=0)
            if largest > _LARGEST:
                raise PulsarError(
                    f"a message for '{topic}' has {largest} bytes; brokers accept "
                    f"{_LARGEST} at most"
                )
            self._largest = max(self._largest, largest)
            self._messages.setdefault(topic, []).extend(messages)

    def prepare_commit(self, end_of_input: bool) -> Sequence[tuple[Any, ...]]:
        if not self._messages:
            return ()
        content = [self._subtask, self._together(), self._messages]
        self._messages, self._largest = {}, 1
        return (tuple(StagedEpoch.pack(self._run_id, self._epoch, content)),)

    def _together(self) -> int:
        """Number of messages per batch. It is 1 for delayed messages, which the client never
        batches, and for messages that may have keys, since consumers of a key must not get other
        keys."""
        writing = self._writing
        if isinstance(writing.schema, PulsarSerializationSchema) or writing.delay is not None:
            return 1
        return max(1, min(TOGETHER, _TOGETHER_BYTES // self._largest))
