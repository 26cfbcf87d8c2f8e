"""A sink that publishes to a RabbitMQ queue. Flink docs: "RabbitMQ Connector", RabbitMQ Sink."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from millrace.common.errors import JobDefinitionError
from millrace.common.serialization import SerializationSchema
from millrace.common.sink import Sink, SinkWriter, WriterContext
from millrace.common.types.batch import RowBatch
from millrace.connectors.rabbitmq.connection_config import RMQConnectionConfig
from millrace.connectors.rabbitmq.publisher import Publisher

__all__ = ["RMQSink"]

_PUBLISHER = "rabbitmq-publisher"

CorrelationId = Callable[[Any], str]


class RMQSink(Sink[Any]):
    """Publishes records to a queue, at least once: an epoch ends when the server has stored them.

    Args:
        connection_config: the server.
        queue_name: the queue; a durable one is made if there is none.
        serialization_schema: makes the body of a message.
        correlation_id: the id of a record's message. If it is the same whenever the record is
            written again, an `RMQSource` that uses correlation ids sees the message once.

    Raises:
        JobDefinitionError: an argument is not what it should be.
    """

    def __init__(
        self,
        connection_config: RMQConnectionConfig,
        queue_name: str,
        serialization_schema: SerializationSchema[Any],
        correlation_id: CorrelationId | None = None,
    ) -> None:
        if not isinstance(connection_config, RMQConnectionConfig):
            raise JobDefinitionError(
                f"an RMQSink needs an RMQConnectionConfig, not {connection_config!r}"
            )
        if not isinstance(serialization_schema, SerializationSchema):
            raise JobDefinitionError(
                f"an RMQSink needs a SerializationSchema, not {serialization_schema!r}"
            )
        self._config = connection_config
        self._queue = queue_name
        self._schema = serialization_schema
        self._correlation_id = correlation_id

    def create_writer(self, context: WriterContext, state: Any) -> SinkWriter[Any]:
        publisher = context.shared.pop(_PUBLISHER, None)
        if publisher is None or not publisher.is_open:
            publisher = Publisher(self._config, self._queue)
        return RabbitMQWriter(publisher, self._schema, self._correlation_id, context)


class RabbitMQWriter(SinkWriter[Any]):
    """Publishes as it is written to; its connection goes on from epoch to epoch."""

    def __init__(
        self,
        publisher: Publisher,
        schema: SerializationSchema[Any],
        correlation_id: CorrelationId | None,
        context: WriterContext,
    ) -> None:
        self._publisher = publisher
        self._schema = schema
        self._correlation_id = correlation_id
        self._shared = context.shared

    def write(self, batch: RowBatch[Any]) -> None:
        """Publish a batch.

        Raises:
            RabbitMQError: the connection is lost.
        """
        id_of = self._correlation_id
        bodies = self._schema.serialize_batch(batch.values)
        ids = [None] * len(bodies) if id_of is None else [id_of(value) for value in batch.values]
        self._publisher.publish(list(zip(bodies, ids, strict=True)))

    def prepare_commit(self, end_of_input: bool) -> Sequence[Any]:
        """Wait until the server has stored what the epoch has published.

        Raises:
            RabbitMQError: it has not.
        """
        self._publisher.wait()
        self._shared[_PUBLISHER] = self._publisher  # one whose epoch failed is not used again
        return ()

    def close(self) -> None:
        if self._shared.get(_PUBLISHER) is not self._publisher:
            self._publisher.close()
