"""A sink of Amazon Data Firehose. Flink docs: "Amazon Kinesis Data Firehose"; FLIP-171."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Self

from millrace.common.errors import JobDefinitionError
from millrace.common.serialization import SerializationSchema
from millrace.common.sink import Sink, SinkWriter, WriterContext
from millrace.common.types.batch import RowBatch
from millrace.connectors.async_sink import UnsentEntries
from millrace.connectors.kinesis.client import FIREHOSE, KinesisError
from millrace.connectors.kinesis.resending_writer import (
    BatchLimits,
    Record,
    ResendingWriter,
    StreamTarget,
    refused,
)
from millrace.connectors.kinesis.sink import KinesisSinkOptions

__all__ = ["KinesisFirehoseSink", "KinesisFirehoseSinkBuilder"]

_LIMITS = BatchLimits(500, 4 << 20, 1000 << 10)


@dataclass(frozen=True)
class FirehoseWriting:
    """Settings of a Firehose sink."""

    target: StreamTarget
    schema: SerializationSchema[Any]
    limits: BatchLimits


class KinesisFirehoseSink(Sink[Any]):
    """Writes to a Firehose delivery stream, at least once; made by `KinesisFirehoseSink.builder`.

    Example:
        >>> from millrace.common import SimpleStringSchema
        >>> sink = (
        ...     KinesisFirehoseSink.builder()
        ...     .set_firehose_client_properties({"aws.region": "eu-west-1"})
        ...     .set_delivery_stream_name("totals")
        ...     .set_serialization_schema(SimpleStringSchema())
        ...     .build()
        ... )
    """

    def __init__(self, writing: FirehoseWriting) -> None:
        self._writing = writing

    @staticmethod
    def builder() -> KinesisFirehoseSinkBuilder:
        """A builder of a sink, without settings."""
        return KinesisFirehoseSinkBuilder()

    def create_writer(self, context: WriterContext, state: Any) -> SinkWriter[Any]:
        return FirehoseWriter(self._writing, context)


class FirehoseWriter(ResendingWriter):
    """Sends serialized records to the delivery stream.

    Args:
        sleep: waits between retries; replaced by tests.
    """

    def __init__(
        self,
        writing: FirehoseWriting,
        context: WriterContext,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        advice = "it accepts no more than its account's quota, which AWS raises on request"
        super().__init__(writing.target, writing.limits, advice, context, sleep)
        self._schema = writing.schema

    def write(self, batch: RowBatch[Any]) -> None:
        most = self._record_bytes
        for data in self._schema.serialize_batch(batch.values):
            if len(data) > most:
                raise KinesisError(
                    f"a record for the {self._target} has {len(data)} bytes; at most {most} can "
                    "be: set_max_record_size_in_bytes(), and Firehose's own limit"
                )
            self._add({"Data": data}, len(data))

    def _put(self, records: list[Record]) -> UnsentEntries[Record]:
        answer = self._client.put_record_batch(
            DeliveryStreamName=self._target.stream, Records=records
        )
        if not answer.get("FailedPutCount"):
            return UnsentEntries([])
        return refused(records, answer["RequestResponses"])


class KinesisFirehoseSinkBuilder(KinesisSinkOptions):
    """Collects the options of a `KinesisFirehoseSink`; names as in PyFlink.

    A request has at most 500 records and 4 MiB, a record 1000 KiB: Firehose takes no more.
    """

    def __init__(self) -> None:
        super().__init__(_LIMITS)

    def set_delivery_stream_name(self, delivery_stream_name: str) -> Self:
        """Set the delivery stream, which must exist.

        Raises:
            JobDefinitionError: the argument is not a name.
        """
        return self._name(delivery_stream_name, "set_delivery_stream_name")

    def set_firehose_client_properties(self, firehose_client_properties: Mapping[str, Any]) -> Self:
        """Set region, endpoint and credentials with Flink's names, such as ``aws.region``.

        Raises:
            JobDefinitionError: one is unknown.
        """
        return self._client(firehose_client_properties)

    def build(self) -> KinesisFirehoseSink:
        """The sink with all settings made so far.

        Raises:
            JobDefinitionError: delivery stream or schema are missing.
        """
        if self._stream is None or self._schema is None:
            missing = (
                "set_delivery_stream_name()"
                if self._stream is None
                else ("set_serialization_schema()")
            )
            raise JobDefinitionError(f"a KinesisFirehoseSink needs {missing}")
        target = StreamTarget(FIREHOSE, self._stream, self._properties, self._fail_on_error)
        return KinesisFirehoseSink(FirehoseWriting(target, self._schema, self._limits))
