"""Writes records to a service of AWS in batches, again those that did not get in."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from millrace.common.sink import SinkWriter, WriterContext
from millrace.connectors.kinesis.client import (
    AwsService,
    KinesisError,
    KinesisProperties,
    create_client,
    explained,
    is_transient,
)

__all__ = ["BatchLimits", "Refused", "ResendingWriter", "StreamTarget", "refused"]

_FIRST_WAIT_S, _LONGEST_WAIT_S = 0.05, 2.0
_PATIENCE_S = 60.0
"""For how long no record at all may get in before the epoch fails."""

Refused = tuple[list[dict[str, Any]], str]
"""Records that did not get in, and why."""


@dataclass(frozen=True)
class BatchLimits:
    """How large requests and records may be."""

    records: int
    batch_bytes: int
    record_bytes: int


@dataclass(frozen=True)
class StreamTarget:
    """Where records go, and whether one that is not taken at once fails the job."""

    service: AwsService
    stream: str
    properties: KinesisProperties
    fail_on_error: bool

    def __str__(self) -> str:
        return f"{self.service.stream_kind} '{self.stream}'"


class ResendingWriter(SinkWriter[Any]):
    """Sends as it is written to; an epoch ends when the service has acknowledged all its records.

    Args:
        advice: what may help if the service takes too few records.
        sleep: waits between retries; replaced by tests.
        client: of the service; replaced by tests.
    """

    def __init__(
        self,
        target: StreamTarget,
        limits: BatchLimits,
        advice: str,
        context: WriterContext,
        sleep: Callable[[float], None] = time.sleep,
        client: Any = None,
    ) -> None:
        self._target = target
        self._limits = limits
        self._advice = advice
        self._logger = context.logger
        self._sleep = sleep
        self._sent = context.metrics.counter("numRecordsSend")
        self._errors = context.metrics.counter("numRecordsSendErrors")
        self._client = client or create_client(target.properties, target.service)
        self._waiting: list[dict[str, Any]] = []
        self._size = 0

    @abstractmethod
    def _request(self, records: list[dict[str, Any]]) -> Refused:
        """Send records in one request; whatever the client raises is for the caller."""

    def _add(self, record: dict[str, Any], size: int) -> None:
        """Take a record, and send those before it if it is too much for their request."""
        limits = self._limits
        full = len(self._waiting) >= limits.records
        if full or (self._waiting and self._size + size > limits.batch_bytes):
            self._flush()
        self._waiting.append(record)
        self._size += size

    def flush(self, end_of_input: bool) -> None:
        if self._waiting:
            self._flush()

    def close(self) -> None:
        self._client.close()

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
            if self._target.fail_on_error or waited >= _PATIENCE_S:
                raise KinesisError(
                    f"{len(left)} records were not taken by the {self._target}: {reason}; "
                    f"{self._advice}"
                )
            self._logger.info("%d records are sent again in %g s: %s", len(left), wait, reason)
            self._sleep(wait)
            waited += wait
            wait = min(2 * wait, _LONGEST_WAIT_S)

    def _put(self, records: list[dict[str, Any]]) -> Refused:
        target = self._target
        try:
            return self._request(records)
        except Exception as error:  # whatever kinds the client has
            if is_transient(error):
                return records, str(error)
            raise explained(error, target.stream, "write to", target.service) from error


def refused(records: list[dict[str, Any]], results: Sequence[dict[str, Any]]) -> Refused:
    """Which of the records did not get in, by what the service says of each."""
    pairs = list(zip(records, results, strict=True))
    left = [record for record, result in pairs if result.get("ErrorCode")]
    reasons = (result.get("ErrorCode") for _, result in pairs)
    return left, next(filter(None, reasons), "no reason given")
