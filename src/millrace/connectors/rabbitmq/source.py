"""A source that consumes a RabbitMQ queue. Flink docs: "RabbitMQ Connector", RabbitMQ Source."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from millrace.common.error_policy import ErrorPolicy, require_error_policy
from millrace.common.errors import JobDefinitionError
from millrace.common.serialization import DeserializationSchema
from millrace.common.source import Boundedness, ReaderContext, Source, SourceReader, SplitEnumerator
from millrace.common.types.batch import Batch
from millrace.connectors.message_queue.acknowledging_reader import AcknowledgingReader, QueueReading
from millrace.connectors.message_queue.queue_client import Delivery
from millrace.connectors.message_queue.queue_enumerator import QueueEnumerator
from millrace.connectors.rabbitmq.client import RabbitMQClient
from millrace.connectors.rabbitmq.connection_config import RabbitMQError, RMQConnectionConfig

__all__ = ["RMQSource"]


class RMQSource(Source[Any]):
    """Consumes a queue; messages are acknowledged when a complete checkpoint covers them.

    Args:
        connection_config: the server.
        queue_name: the queue; a durable one is made if there is none.
        use_correlation_id: whether each message has a correlation id that no other has: then each
            is processed exactly once, by one consumer. Otherwise at least once, by one consumer
            per subtask.
        deserialization_schema: reads the body of a message.
        error_policy: error policy for messages that cannot be read.

    Raises:
        JobDefinitionError: an argument is not what it should be.

    Example:
        >>> from millrace.common import SimpleStringSchema
        >>> config = RMQConnectionConfig.Builder().set_host("localhost").build()
        >>> RMQSource(config, "orders", True, SimpleStringSchema())
        RMQSource('orders' at localhost:5672)
    """

    def __init__(
        self,
        connection_config: RMQConnectionConfig,
        queue_name: str,
        use_correlation_id: bool,
        deserialization_schema: DeserializationSchema[Any],
        error_policy: ErrorPolicy | None = None,
    ) -> None:
        if not isinstance(connection_config, RMQConnectionConfig):
            raise JobDefinitionError(
                f"an RMQSource needs an RMQConnectionConfig, not {connection_config!r}"
            )
        if not isinstance(queue_name, str) or not queue_name:
            raise JobDefinitionError(f"the name of a queue must be a text, not {queue_name!r}")
        if not isinstance(deserialization_schema, DeserializationSchema):
            raise JobDefinitionError(
                f"an RMQSource needs a DeserializationSchema, not {deserialization_schema!r}"
            )
        self._config = connection_config
        self._queue = queue_name
        self._by_id = bool(use_correlation_id)
        self._schema = deserialization_schema
        self._policy = require_error_policy(error_policy or ErrorPolicy.fail())

    def __repr__(self) -> str:
        return f"RMQSource('{self._queue}' at {self._config.place})"

    @property
    def boundedness(self) -> Boundedness:
        return Boundedness.CONTINUOUS_UNBOUNDED

    @property
    def requires_checkpoints(self) -> bool:
        return True

    def create_enumerator(self) -> SplitEnumerator:
        return QueueEnumerator(single=self._by_id)

    def create_reader(self, context: ReaderContext) -> SourceReader[Any]:
        reading = QueueReading(
            place=f"queue '{self._queue}' of RabbitMQ at {self._config.place}",
            connect=lambda split_id: RabbitMQClient(self._config, self._queue, self._by_id),
            deserialize=self._deserialize,
            has_ids=self._by_id,
            missing_id="has no correlation id, which use_correlation_id=True asks for",
            policy=self._policy,
            kind=RabbitMQError,
        )
        return AcknowledgingReader(reading, context)

    def _deserialize(self, deliveries: Sequence[Delivery]) -> Batch:
        return self._schema.deserialize_flat([delivery.body for delivery in deliveries])[0]
