"""Writes records to a Kinesis stream in batches, again those that did not get in."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from millrace.common.errors import SerializationError
from millrace.common.serialization import SerializationSchema
from millrace.common.sink import SinkWriter, WriterContext
from millrace.common.types.batch import RowBatch
from millrace.connectors.kinesis.client import (
    KinesisError,
    KinesisProperties,
    create_client,
    explained,
    is_transient,
)
from millrace.connectors.kinesis.partition_key import PartitionKeyGenerator

__all__ = ["KinesisWriter", "KinesisWriting"]

_CLIENT = "kinesis-client"
_LONGEST_KEY = 256
_FIRST_WAIT_S, _LONGEST_WAIT_S = 0.05, 2.0
_PATIENCE_S = 60.0
"""For how long no record at all may get in before the epoch fails."""


@dataclass(frozen=True)
class KinesisWriting:
    """What a Kinesis sink writes, and how."""

    stream: str
    schema: SerializationSchema[Any]
    keys: PartitionKeyGenerator
    properties: KinesisProperties
    fail_on_error: bool
    max_batch: int
    max_batch_bytes: int
    max_record_bytes: int


class KinesisWriter(SinkWriter[Any]):
    """Sends as it is written to; an epoch ends when Kinesis has acknowledged all its records.

    Args:
        sleep: waits between retries; replaced by tests.
    """

    def __init__(
        self,
        writing: KinesisWriting,
        context: WriterContext,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._writing = writing
        self._subtask = context.subtask_index
        self._logger = context.logger
        self._sleep = sleep
        self._sent = context.metrics.counter("numRecordsSend")
        self._errors = context.metrics.counter("numRecordsSendErrors")
        client = context.shared.get(_CLIENT)
        if client is None:
            client = context.shared[_CLIENT] = create_client(writing.properties)
        self._client: Any = client
        self._waiting: list[dict[str, Any]] = []
        self._size = 0

    def write(self, batch: RowBatch[Any]) -> None:
        writing = self._writing
        written = writing.schema.serialize_batch(batch.values)
        for value, data in zip(batch.values, written, strict=True):
            key = self._key(value)
            size = len(data) + len(key.encode())
            if size > writing.max_record_bytes:
                raise KinesisError(
                    f"a record for the stream '{writing.stream}' has {size} bytes with its key; "
                    f"at most {writing.max_record_bytes} can be: "
                    "set_max_record_size_in_bytes(), and the stream's own limit"
                )
            full = len(self._waiting) >= writing.max_batch
            if full or (self._waiting and self._size + size > writing.max_batch_bytes):
                self._flush()
            self._waiting.append({"Data": data, "PartitionKey": key})
            self._size += size

    def _key(self, value: Any) -> str:
        key = self._writing.keys.key(value, self._subtask)
        if not isinstance(key, str) or not 0 < len(key) <= _LONGEST_KEY:
            raise SerializationError(
                f"the partition key of {value!r} is {key!r}; it must be a text of 1 to "
                f"{_LONGEST_KEY} characters"
            )
        return key

    def prepare_commit(self, end_of_input: bool) -> Sequence[Any]:
        if self._waiting:
            self._flush()
        return ()

    def _flush(self) -> None:
        """Send what waits until all is in.

        Raises:
            KinesisError: it is refused, or nothing gets in for a minute.
        """
        records, self._waiting, self._size = self._waiting, [], 0
        self._sent.inc(len(records))
        wait, waited = _FIRST_WAIT_S, 0.0
        while True:
            begun = time.monotonic()
            left, reason = self._put(records)
            if not left:
                return
            waited += time.monotonic() - begun  # a service that is away takes half a minute to be
            self._errors.inc(len(left))
            if len(left) < len(records):
                wait, waited = _FIRST_WAIT_S, 0.0
            records = left
            if self._writing.fail_on_error or waited >= _PATIENCE_S:
                raise KinesisError(
                    f"{len(left)} records were not taken by the Kinesis stream "
                    f"'{self._writing.stream}': {reason}; if it has too few shards, add some"
                )
            self._logger.info("%d records are sent again in %g s: %s", len(left), wait, reason)
            self._sleep(wait)
            waited += wait
            wait = min(2 * wait, _LONGEST_WAIT_S)

    def _put(self, records: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], str]:
        """Send them in one request; returns those that did not get in, and why."""
        stream = self._writing.stream
        try:
            answer = self._client.put_records(StreamName=stream, Records=records)
        except Exception as error:  # whatever kinds the client has
            if is_transient(error):
                return records, str(error)
            raise explained(error, stream, "write to") from error
        if not answer.get("FailedRecordCount"):
            return [], ""
        results = list(zip(records, answer["Records"], strict=True))
        left = [record for record, result in results if result.get("ErrorCode")]
        reasons = (result.get("ErrorCode") for _, result in results)
        return left, next(filter(None, reasons), "no reason given")
