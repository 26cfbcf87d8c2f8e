"""Conversion of Kinesis records to records of a stream. Flink docs: "Kinesis", Deserialization
schema."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from millrace.common.error_policy import ErrorPolicy
from millrace.common.errors import JobDefinitionError
from millrace.common.serialization import DeserializationSchema
from millrace.common.source import ReaderContext
from millrace.common.types.batch import Batch, RowBatch
from millrace.connectors.kinesis.client import KinesisError
from millrace.connectors.malformed_records import MalformedRecords
from millrace.connectors.record_decoding import decode_around, with_times
from millrace.formats.malformed_record import MalformedRecordError, as_malformed, shown_bytes

__all__ = ["KinesisDeserializationSchema", "KinesisRecord", "RecordDecoder"]

T = TypeVar("T")


class KinesisRecord(NamedTuple):
    """A record of a shard.

    Attributes:
        stream: its stream.
        shard_id: its shard of that.
        sequence_number: its place in that; records that a producer packed together share one.
        partition_key: key that determined the shard.
        arrival: about when Kinesis received it, in ms since 1970.
        data: its content.
    """

    stream: str
    shard_id: str
    sequence_number: str
    partition_key: str
    arrival: int
    data: bytes


class KinesisDeserializationSchema(ABC, Generic[T]):
    """Reads whole records: key, position and time besides the content. Must be picklable.

    Example:
        >>> class Keyed(KinesisDeserializationSchema[tuple[str, str]]):
        ...     def deserialize(self, record: KinesisRecord) -> tuple[str, str]:
        ...         return record.partition_key, record.data.decode()
        >>> Keyed().deserialize(KinesisRecord("words", "shard-0", "1", "en", 0, b"mill"))
        ('en', 'mill')
    """

    @abstractmethod
    def deserialize(self, record: KinesisRecord) -> T | None:
        """The record; None skips the Kinesis record."""


class RecordDecoder:
    """Reads the records of one shard with their arrival times.

    Args:
        place: name of the shard, for messages.
    """

    def __init__(
        self,
        schema: DeserializationSchema[Any] | KinesisDeserializationSchema[Any],
        policy: ErrorPolicy,
        context: ReaderContext,
        place: str,
    ) -> None:
        self._schema = schema
        self._place = place
        self._malformed = None if policy.fails else MalformedRecords(policy, context, place)

    def decode(self, records: Sequence[KinesisRecord]) -> list[Batch]:
        """Records in order, in one batch, or in several batches around unreadable records.

        Raises:
            KinesisError: one cannot be read, and the error policy is to fail.
        """
        decoded = decode_around(records, self._batch, self._give_up)
        return [batch for _, batch in decoded]

    def _batch(self, records: Sequence[KinesisRecord]) -> Batch:
        times = [record.arrival for record in records]
        schema = self._schema
        if isinstance(schema, KinesisDeserializationSchema):
            rows = RowBatch([schema.deserialize(record) for record in records])
            return with_times(rows, times)
        batch, origins = schema.deserialize_flat([record.data for record in records])
        if origins is not None:
            times = [times[origin] for origin in origins]
        return with_times(batch, times)

    def _give_up(self, record: KinesisRecord, error: Exception) -> None:
        malformed = as_malformed(error)
        if self._malformed is None:
            raise KinesisError(
                f"the record {record.sequence_number} of {self._place} cannot be read: "
                f"{malformed.reason}: {shown_bytes(record.data)}; to skip such records, use "
                "set_error_policy(ErrorPolicy.skip()) or side_output()"
            ) from error
        self._malformed.take(MalformedRecordError(malformed.reason, record.data, None, None, None))


def require_schema(schema: Any) -> Any:
    """The schema itself, after a check.

    Raises:
        JobDefinitionError: it is none.
    """
    if not isinstance(schema, (DeserializationSchema, KinesisDeserializationSchema)):
        raise JobDefinitionError(
            "a Kinesis source needs a DeserializationSchema such as SimpleStringSchema(), or a "
            f"KinesisDeserializationSchema, not {schema!r}"
        )
    return schema
