"""Writes records to a Kinesis stream."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from millrace.common.errors import SerializationError
from millrace.common.serialization import SerializationSchema
from millrace.common.sink import WriterContext
from millrace.common.types.batch import RowBatch
from millrace.connectors.async_sink import UnsentEntries
from millrace.connectors.kinesis.client import KinesisError
from millrace.connectors.kinesis.partition_key import PartitionKeyGenerator
from millrace.connectors.kinesis.resending_writer import (
    BatchLimits,
    Record,
    ResendingWriter,
    StreamTarget,
    refused,
)

__all__ = ["KinesisWriter", "KinesisWriting"]

_LONGEST_KEY = 256


@dataclass(frozen=True)
class KinesisWriting:
    """Settings of a Kinesis sink."""

    target: StreamTarget
    schema: SerializationSchema[Any]
    keys: PartitionKeyGenerator
    limits: BatchLimits
    hash_key: Callable[[Any], str | None] | None = None
    """Function that returns the explicit hash key of a record, which determines the shard; None if
    the partition keys determine the shards."""


class KinesisWriter(ResendingWriter):
    """Sends serialized records with their partition keys.

    Args:
        sleep: waits between retries; replaced by tests.
        client: client of the service; tests replace it.
    """

    def __init__(
        self,
        writing: KinesisWriting,
        context: WriterContext,
        sleep: Callable[[float], None] = time.sleep,
        client: Any = None,
    ) -> None:
        advice = "if the stream has too few shards, add some"
        super().__init__(writing.target, writing.limits, advice, context, sleep, client)
        self._writing = writing
        self._subtask = context.subtask_index

    def write(self, batch: RowBatch[Any]) -> None:
        written = self._writing.schema.serialize_batch(batch.values)
        most = self._record_bytes
        for value, data in zip(batch.values, written, strict=True):
            key = self._key(value)
            size = len(data) + len(key.encode())
            if size > most:
                raise KinesisError(
                    f"a record for the stream '{self._target.stream}' has {size} bytes with its "
                    f"key; at most {most} can be: set_max_record_size_in_bytes(), and the stream's "
                    "own limit"
                )
            record = {"Data": data, "PartitionKey": key}
            hash_key = None if self._writing.hash_key is None else self._writing.hash_key(value)
            if hash_key is not None:
                record["ExplicitHashKey"] = hash_key
            self._add(record, size)

    def _key(self, value: Any) -> str:
        key = self._writing.keys.key(value, self._subtask)
        if not isinstance(key, str) or not 0 < len(key) <= _LONGEST_KEY:
            raise SerializationError(
                f"the partition key of {value!r} is {key!r}; it must be a text of 1 to "
                f"{_LONGEST_KEY} characters"
            )
        return key

    def _put(self, records: list[Record]) -> UnsentEntries[Record]:
        answer = self._client.put_records(StreamName=self._target.stream, Records=records)
        failed = answer.get("FailedRecordCount")
        return refused(records, answer["Records"]) if failed else UnsentEntries([])
