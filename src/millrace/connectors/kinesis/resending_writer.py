"""Writer to an AWS service in batches, which resends rejected records."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from millrace.common.sink import WriterContext
from millrace.connectors.async_sink import (
    AsyncSinkWriter,
    BufferLimits,
    UnsentEntries,
)
from millrace.connectors.kinesis.client import (
    AwsService,
    KinesisError,
    KinesisProperties,
    create_client,
    explained,
    is_transient,
)
from millrace.connectors.retries import FixedPauses, GrowingPauses, Pauses

__all__ = ["BatchLimits", "Record", "ResendingWriter", "StreamTarget", "refused"]

_FIRST_WAIT_S, _LONGEST_WAIT_S = 0.05, 2.0
_PATIENCE_S = 60.0
"""For how long no record at all may get in before the epoch fails."""

Record = dict[str, Any]
"""A record as requests have it."""


@dataclass(frozen=True)
class BatchLimits:
    """Maximum sizes of requests and records."""

    records: int
    batch_bytes: int
    record_bytes: int


@dataclass(frozen=True)
class StreamTarget:
    """Destination of the records, and whether a rejected record fails the job."""

    service: AwsService
    stream: str
    properties: KinesisProperties
    fail_on_error: bool

    def __str__(self) -> str:
        return f"{self.service.stream_kind} '{self.stream}'"


class ResendingWriter(AsyncSinkWriter[Record]):
    """Sends records as they are written; an epoch ends when the service has acknowledged all its
    records.

    Args:
        advice: advice for messages if the service accepts too few records.
        sleep: waits between retries; replaced by tests.
        client: client of the service; tests replace it.
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
        super().__init__(context, BufferLimits(limits.records, limits.batch_bytes), sleep)
        self._target = target
        self._record_bytes = limits.record_bytes
        self._advice = advice
        self._errors = context.metrics.counter("numRecordsSendErrors")
        self._client = client or create_client(target.properties, target.service)

    @abstractmethod
    def _put(self, records: list[Record]) -> UnsentEntries[Record]:
        """Send records in one request; errors of the client go to the caller."""

    def close(self) -> None:
        self._client.close()

    def _request(self, records: list[Record]) -> UnsentEntries[Record]:
        target = self._target
        try:
            unsent = self._put(records)
        except Exception as error:  # whatever kinds the client has
            if not is_transient(error):
                raise explained(error, target.stream, "write to", target.service) from error
            unsent = UnsentEntries(records, error)
        self._errors.inc(len(unsent.entries))
        return unsent

    def _pauses(self) -> Pauses:
        if self._target.fail_on_error:
            return FixedPauses(())
        return GrowingPauses(_FIRST_WAIT_S, _LONGEST_WAIT_S, _PATIENCE_S)

    def _gave_up(self, unsent: UnsentEntries[Record], tries: int) -> None:
        raise KinesisError(
            f"{len(unsent.entries)} records were not accepted by the {self._target}: "
            f"{unsent.failure}; {self._advice}"
        )


def refused(records: list[Record], results: Sequence[dict[str, Any]]) -> UnsentEntries[Record]:
    """The records that the service rejected, found from the service's result for each record."""
    pairs = list(zip(records, results, strict=True))
    left = [record for record, result in pairs if result.get("ErrorCode")]
    reasons = (result.get("ErrorCode") for _, result in pairs)
    return UnsentEntries(left, KinesisError(next(filter(None, reasons), "no reason given")))
