"""A sink of Amazon Kinesis Data Streams. Flink docs: "Amazon Kinesis Data Streams"; FLIP-171."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Self

from millrace.common.errors import JobDefinitionError
from millrace.common.serialization import SerializationSchema
from millrace.common.sink import Sink, SinkWriter, WriterContext
from millrace.connectors.kinesis.client import KINESIS, KinesisProperties
from millrace.connectors.kinesis.partition_key import PartitionKeyGenerator
from millrace.connectors.kinesis.resending_writer import BatchLimits, StreamTarget
from millrace.connectors.kinesis.writer import KinesisWriter, KinesisWriting

__all__ = ["KinesisSinkOptions", "KinesisStreamsSink", "KinesisStreamsSinkBuilder"]

LIMITS = BatchLimits(500, 5 << 20, 1 << 20)
"""Limits of the service."""


class KinesisStreamsSink(Sink[Any]):
    """Writes to a Kinesis stream, at least once; made by `KinesisStreamsSink.builder`.

    Example:
        >>> from millrace.common import SimpleStringSchema
        >>> sink = (
        ...     KinesisStreamsSink.builder()
        ...     .set_kinesis_client_properties({"aws.region": "eu-west-1"})
        ...     .set_stream_name("totals")
        ...     .set_serialization_schema(SimpleStringSchema())
        ...     .set_partition_key_generator(PartitionKeyGenerator.random())
        ...     .build()
        ... )
    """

    def __init__(self, writing: KinesisWriting) -> None:
        self._writing = writing

    @staticmethod
    def builder() -> KinesisStreamsSinkBuilder:
        """A builder of a sink, without settings."""
        return KinesisStreamsSinkBuilder()

    def create_writer(self, context: WriterContext, state: Any) -> SinkWriter[Any]:
        return KinesisWriter(self._writing, context)


class KinesisSinkOptions:
    """Collects the options that the sinks of Kinesis share; names as in PyFlink.

    Args:
        limits: limits of the service, and the defaults.
    """

    def __init__(self, limits: BatchLimits) -> None:
        self._stream: str | None = None
        self._schema: SerializationSchema[Any] | None = None
        self._properties = KinesisProperties()
        self._fail_on_error = False
        self._limits = limits
        self._most_records = limits.records

    def _name(self, stream: Any, call: str) -> Self:
        if not isinstance(stream, str) or not stream:
            raise JobDefinitionError(f"{call}() takes the name of a stream, not {stream!r}")
        self._stream = stream
        return self

    def _client(self, properties: Mapping[str, Any]) -> Self:
        self._properties = KinesisProperties.of(properties)
        return self

    def set_serialization_schema(self, serialization_schema: SerializationSchema[Any]) -> Self:
        """Set the schema of the record's content.

        Raises:
            JobDefinitionError: the argument is not a `SerializationSchema`.
        """
        if not isinstance(serialization_schema, SerializationSchema):
            raise JobDefinitionError(
                "set_serialization_schema() takes a SerializationSchema such as "
                f"SimpleStringSchema(), not {serialization_schema!r}"
            )
        self._schema = serialization_schema
        return self

    def set_fail_on_error(self, fail_on_error: bool) -> Self:
        """Set whether the job fails when a record is rejected; by default the record is sent
        again."""
        self._fail_on_error = bool(fail_on_error)
        return self

    def set_max_batch_size(self, max_batch_size: int) -> Self:
        """Set the maximum number of records of one request; 500 by default, which is also the
        upper limit."""
        records = min(self._most_records, _positive(max_batch_size, "set_max_batch_size"))
        self._limits = replace(self._limits, records=records)
        return self

    def set_max_batch_size_in_bytes(self, max_batch_size_in_bytes: int) -> Self:
        """Set the maximum size of one request in bytes."""
        size = _positive(max_batch_size_in_bytes, "set_max_batch_size_in_bytes")
        self._limits = replace(self._limits, batch_bytes=size)
        return self

    def set_max_record_size_in_bytes(self, max_record_size_in_bytes: int) -> Self:
        """Set the maximum size of one record in bytes; a larger one fails the job."""
        size = _positive(max_record_size_in_bytes, "set_max_record_size_in_bytes")
        self._limits = replace(self._limits, record_bytes=size)
        return self

    def set_max_in_flight_requests(self, max_in_flight_requests: int) -> Self:
        """Accepted for Flink programs, without effect: a subtask always has one request in
        flight."""
        return self

    def set_max_buffered_requests(self, max_buffered_requests: int) -> Self:
        """Accepted for Flink programs, without effect: full requests are sent immediately."""
        return self

    def set_max_time_in_buffer_ms(self, max_time_in_buffer_ms: int) -> Self:
        """Accepted for Flink programs, without effect: every epoch sends all records."""
        return self


class KinesisStreamsSinkBuilder(KinesisSinkOptions):
    """Collects the options of a `KinesisStreamsSink`; names as in PyFlink.

    A request has at most 500 records and 5 MiB, a record with its key 1 MiB, unless set.
    """

    def __init__(self) -> None:
        super().__init__(LIMITS)
        self._keys: PartitionKeyGenerator | None = None

    def set_stream_name(self, stream_name: str) -> Self:
        """Set the stream, which must exist.

        Raises:
            JobDefinitionError: the argument is not a name.
        """
        return self._name(stream_name, "set_stream_name")

    def set_partition_key_generator(self, partition_key_generator: PartitionKeyGenerator) -> Self:
        """Set the generator of partition keys, which determine the shard.

        Raises:
            JobDefinitionError: the argument is not a `PartitionKeyGenerator`.
        """
        if not isinstance(partition_key_generator, PartitionKeyGenerator):
            raise JobDefinitionError(
                "set_partition_key_generator() takes a PartitionKeyGenerator such as "
                f"PartitionKeyGenerator.random(), not {partition_key_generator!r}"
            )
        self._keys = partition_key_generator
        return self

    def set_kinesis_client_properties(self, kinesis_client_properties: Mapping[str, Any]) -> Self:
        """Set region, endpoint and credentials with Flink's names, such as ``aws.region``.

        Raises:
            JobDefinitionError: one is unknown.
        """
        return self._client(kinesis_client_properties)

    def build(self) -> KinesisStreamsSink:
        """The sink with all settings made so far.

        Raises:
            JobDefinitionError: stream, schema or partition keys are missing.
        """
        for part, call in (
            (self._stream, "set_stream_name()"),
            (self._schema, "set_serialization_schema()"),
            (self._keys, "set_partition_key_generator()"),
        ):
            if part is None:
                raise JobDefinitionError(f"a KinesisStreamsSink needs {call}")
        assert self._stream is not None
        assert self._schema is not None
        assert self._keys is not None
        target = StreamTarget(KINESIS, self._stream, self._properties, self._fail_on_error)
        return KinesisStreamsSink(KinesisWriting(target, self._schema, self._keys, self._limits))


def _positive(number: Any, call: str) -> int:
    if not isinstance(number, int) or number <= 0:
        raise JobDefinitionError(f"{call}() takes a positive number, not {number!r}")
    return number
