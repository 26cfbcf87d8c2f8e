"""A sink that publishes to a RabbitMQ queue. Flink docs: "RabbitMQ Connector", RabbitMQ Sink."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from millrace.common.errors import JobDefinitionError
from millrace.common.serialization import SerializationSchema
from millrace.common.sink import Sink, SinkWriter, WriterContext, WriterEpoch
from millrace.common.types.batch import RowBatch
from millrace.connectors.rabbitmq.connection_config import RMQConnectionConfig
from millrace.connectors.rabbitmq.publisher import Publisher

__all__ = ["RMQSink"]

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
        return RabbitMQWriter(self._config, self._queue, self._schema, self._correlation_id)


class RabbitMQWriter(SinkWriter[Any]):
    """Publishes records as they are written."""

    def __init__(
        self,
        config: RMQConnectionConfig,
        queue: str,
        schema: SerializationSchema[Any],
        correlation_id: CorrelationId | None,
    ) -> None:
        self._config = config
        self._queue = queue
        self._schema = schema
        self._correlation_id = correlation_id
        self._publisher = Publisher(config, queue)

    def begin_epoch(self, epoch: WriterEpoch) -> None:
        """Reconnect if the connection was lost while no message was outstanding."""
        if not self._publisher.is_open:
            self._publisher.close()
            self._publisher = Publisher(self._config, self._queue)

    def write(self, batch: RowBatch[Any]) -> None:
        """Publish a batch.

        Raises:
            RabbitMQError: the connection is lost.
        """
        id_of = self._correlation_id
        bodies = self._schema.serialize_batch(batch.values)
        ids = [None] * len(bodies) if id_of is None else [id_of(value) for value in batch.values]
        self._publisher.publish(list(zip(bodies, ids, strict=True)))

    def flush(self, end_of_input: bool) -> None:
        """Wait until the server has stored the epoch's messages.

        Raises:
            RabbitMQError: it has not.
        """
        self._publisher.wait()

    def close(self) -> None:
        self._publisher.close()
