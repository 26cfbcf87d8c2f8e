"""A sink to Kinesis data streams. Flink docs: "Amazon Kinesis Data Streams"; FLIP-171."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from millrace.common.errors import JobDefinitionError
from millrace.common.serialization import SerializationSchema
from millrace.common.sink import Sink, SinkWriter, WriterContext
from millrace.connectors.kinesis.client import KinesisProperties
from millrace.connectors.kinesis.partition_key import PartitionKeyGenerator
from millrace.connectors.kinesis.writer import KinesisWriter, KinesisWriting

__all__ = ["KinesisStreamsSink", "KinesisStreamsSinkBuilder"]

_MAX_BATCH = 500
_MB = 1 << 20


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
        """Begin a sink."""
        return KinesisStreamsSinkBuilder()

    def create_writer(self, context: WriterContext, state: Any) -> SinkWriter[Any]:
        return KinesisWriter(self._writing, context)


class KinesisStreamsSinkBuilder:
    """Collects the options of a `KinesisStreamsSink`; names as in PyFlink."""

    def __init__(self) -> None:
        self._stream: str | None = None
        self._schema: SerializationSchema[Any] | None = None
        self._keys: PartitionKeyGenerator | None = None
        self._properties = KinesisProperties()
        self._fail_on_error = False
        self._max_batch = _MAX_BATCH
        self._max_batch_bytes = 5 * _MB
        self._max_record_bytes = _MB

    def set_stream_name(self, stream_name: str) -> KinesisStreamsSinkBuilder:
        """The stream, which must exist.

        Raises:
            JobDefinitionError: it is no name.
        """
        if not isinstance(stream_name, str) or not stream_name:
            raise JobDefinitionError(
                f"set_stream_name() takes the name of a stream, not {stream_name!r}"
            )
        self._stream = stream_name
        return self

    def set_serialization_schema(
        self, serialization_schema: SerializationSchema[Any]
    ) -> KinesisStreamsSinkBuilder:
        """Writes the content of a record.

        Raises:
            JobDefinitionError: it is no `SerializationSchema`.
        """
        if not isinstance(serialization_schema, SerializationSchema):
            raise JobDefinitionError(
                "set_serialization_schema() takes a SerializationSchema such as "
                f"SimpleStringSchema(), not {serialization_schema!r}"
            )
        self._schema = serialization_schema
        return self

    def set_partition_key_generator(
        self, partition_key_generator: PartitionKeyGenerator
    ) -> KinesisStreamsSinkBuilder:
        """What chooses the shard.

        Raises:
            JobDefinitionError: it is no `PartitionKeyGenerator`.
        """
        if not isinstance(partition_key_generator, PartitionKeyGenerator):
            raise JobDefinitionError(
                "set_partition_key_generator() takes a PartitionKeyGenerator such as "
                f"PartitionKeyGenerator.random(), not {partition_key_generator!r}"
            )
        self._keys = partition_key_generator
        return self

    def set_fail_on_error(self, fail_on_error: bool) -> KinesisStreamsSinkBuilder:
        """Whether the job fails when a record is not taken at once; by default it is sent again."""
        self._fail_on_error = bool(fail_on_error)
        return self

    def set_kinesis_client_properties(
        self, kinesis_client_properties: Mapping[str, Any]
    ) -> KinesisStreamsSinkBuilder:
        """Region, endpoint and credentials under Flink's names, such as ``aws.region``.

        Raises:
            JobDefinitionError: one is unknown.
        """
        self._properties = KinesisProperties.of(kinesis_client_properties)
        return self

    def set_max_batch_size(self, max_batch_size: int) -> KinesisStreamsSinkBuilder:
        """Records of one request: 500 unless set, and at most."""
        self._max_batch = min(_MAX_BATCH, _positive(max_batch_size, "set_max_batch_size"))
        return self

    def set_max_batch_size_in_bytes(
        self, max_batch_size_in_bytes: int
    ) -> KinesisStreamsSinkBuilder:
        """Bytes of one request: 5 MB unless set."""
        self._max_batch_bytes = _positive(max_batch_size_in_bytes, "set_max_batch_size_in_bytes")
        return self

    def set_max_record_size_in_bytes(
        self, max_record_size_in_bytes: int
    ) -> KinesisStreamsSinkBuilder:
        """Bytes of one record with its key: 1 MB unless set; a larger one fails the job."""
        self._max_record_bytes = _positive(max_record_size_in_bytes, "set_max_record_size_in_bytes")
        return self

    def set_max_in_flight_requests(self, max_in_flight_requests: int) -> KinesisStreamsSinkBuilder:
        """Accepted for Flink programs, without effect: a subtask has one request under way."""
        return self

    def set_max_buffered_requests(self, max_buffered_requests: int) -> KinesisStreamsSinkBuilder:
        """Accepted for Flink programs, without effect: what makes a full request is sent."""
        return self

    def set_max_time_in_buffer_ms(self, max_time_in_buffer_ms: int) -> KinesisStreamsSinkBuilder:
        """Accepted for Flink programs, without effect: every epoch sends all."""
        return self

    def build(self) -> KinesisStreamsSink:
        """The sink.

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
        writing = KinesisWriting(
            self._stream,
            self._schema,
            self._keys,
            self._properties,
            self._fail_on_error,
            self._max_batch,
            self._max_batch_bytes,
            self._max_record_bytes,
        )
        return KinesisStreamsSink(writing)


def _positive(number: Any, call: str) -> int:
    if not isinstance(number, int) or number <= 0:
        raise JobDefinitionError(f"{call}() takes a positive number, not {number!r}")
    return number
