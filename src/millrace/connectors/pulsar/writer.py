"""Writes messages to Pulsar at once, or keeps them in the checkpoint until that is complete."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from millrace.common.serialization import SerializationSchema
from millrace.common.sink import DeliveryGuarantee, SinkWriter, WriterContext
from millrace.common.types.batch import RowBatch
from millrace.connectors.pulsar.client import PulsarError, PulsarProperties, create_client
from millrace.connectors.pulsar.message import Outgoing, PulsarSerializationSchema, outgoing
from millrace.connectors.pulsar.producers import TOGETHER, Producers, sending_options
from millrace.connectors.pulsar.topic_router import PartitionRouter, TopicRouter, TopicRoutingMode
from millrace.connectors.staged_epoch import StagedEpoch

__all__ = ["PulsarWriter", "PulsarWriting", "PulsarStagingWriter"]

_CLIENT = "pulsar-client"
_ROUTER = "pulsar-router"
_PRODUCERS = "pulsar-producers"
_LARGEST = 5 << 20
"""Bytes of a message that brokers take by default."""
_TOGETHER_BYTES = 4 << 20
"""Of messages that are sent together, which brokers take as one."""


@dataclass(frozen=True)
class PulsarWriting:
    """What a Pulsar sink writes, and how."""

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
    """Makes messages of records."""

    def __init__(self, writing: PulsarWriting, context: WriterContext) -> None:
        self._writing = writing
        self._context = context
        shared = context.shared
        if _CLIENT not in shared:
            client = shared[_CLIENT] = create_client(writing.properties)
            shared[_ROUTER] = PartitionRouter(client, writing.topics, writing.router)
        self._router: PartitionRouter = shared[_ROUTER]
        self._turn = context.subtask_index
        self._sent = context.metrics.counter("numRecordsSend")

    def _outgoing(self, batch: RowBatch[Any]) -> Outgoing:
        writing = self._writing
        now = self._context.now
        at = None if writing.delay is None else now + writing.delay
        route = self._router.route(writing.mode, self._turn)
        self._turn += len(batch.values)
        self._sent.inc(len(batch.values))
        return outgoing(batch, writing.schema, route, at)


class PulsarWriter(_Outlet):
    """Sends as it is written to; with at-least-once, an epoch ends when the brokers have all."""

    def __init__(self, writing: PulsarWriting, context: WriterContext) -> None:
        super().__init__(writing, context)
        if _PRODUCERS not in context.shared:
            client = context.shared[_CLIENT]
            context.shared[_PRODUCERS] = Producers(client, sending_options(writing.properties))
        self._producers: Producers = context.shared[_PRODUCERS]

    def write(self, batch: RowBatch[Any]) -> None:
        messages = self._outgoing(batch)
        try:
            self._producers.send(messages)
        except PulsarError:
            self._producers.close()  # the next attempt begins with new ones
            raise

    def prepare_commit(self, end_of_input: bool) -> Sequence[Any]:
        if self._writing.guarantee is DeliveryGuarantee.AT_LEAST_ONCE or end_of_input:
            try:
                self._producers.flush()
            except PulsarError:
                self._producers.close()
                raise
        return ()


class PulsarStagingWriter(_Outlet):
    """Keeps an epoch's messages for the committer."""

    def __init__(self, writing: PulsarWriting, context: WriterContext) -> None:
        super().__init__(writing, context)
        self._messages: Outgoing = {}
        self._largest = 1
        """Bytes of the largest message."""

    def write(self, batch: RowBatch[Any]) -> None:
        """Take a batch.

        Raises:
            PulsarError: a message is too large: later it would be too late.
        """
        for topic, messages in self._outgoing(batch).items():
            largest = max((len(message["content"] or b"") for message in messages), default=0)
            if largest > _LARGEST:
                raise PulsarError(
                    f"a message for '{topic}' has {largest} bytes; brokers take {_LARGEST} at most"
                )
            self._largest = max(self._largest, largest)
            self._messages.setdefault(topic, []).extend(messages)

    def prepare_commit(self, end_of_input: bool) -> Sequence[tuple[Any, ...]]:
        if not self._messages:
            return ()
        context = self._context
        content = [context.subtask_index, self._together(), self._messages]
        return (tuple(StagedEpoch.pack(context.run_id, context.epoch, content)),)

    def _together(self) -> int:
        """How many messages are sent together: the client would not do so with those that are to
        wait, and consumers of a key must not get those of others."""
        writing = self._writing
        if isinstance(writing.schema, PulsarSerializationSchema) or writing.delay is not None:
            return 1
        return max(1, min(TOGETHER, _TOGETHER_BYTES // self._largest))
