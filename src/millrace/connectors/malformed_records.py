"""Error policy of a source for malformed records."""

from __future__ import annotations

from millrace.common.error_policy import DeadLetter, ErrorPolicy
from millrace.common.source import ReaderContext
from millrace.formats.malformed_record import MalformedRecordError

__all__ = ["MalformedRecords"]

MAX_RAW_BYTES = 64 << 10
_LOG_INTERVAL = 10_000


class MalformedRecords:
    """Counts, logs and emits the malformed records that one reader skips.

    The metric is ``numRecordsInErrors`` (Flink's FLIP-33); the log gets a line per split and ten
    seconds at most.
    """

    def __init__(self, policy: ErrorPolicy, context: ReaderContext, source: str) -> None:
        self._tag = policy.tag
        self._context = context
        self._source = source
        self._counter = context.metrics.counter("numRecordsInErrors")
        self._next_log = 0
        self._unlogged = 0

    def take(self, error: MalformedRecordError) -> None:
        """Skip a malformed record."""
        self._counter.inc()
        if self._tag is not None:
            raw = (error.raw or b"")[:MAX_RAW_BYTES]
            place = error.offset, error.line, error.column
            letter = DeadLetter(raw, error.reason, self._source, *place)
            self._context.output(self._tag, letter)
        self._unlogged += 1
        now = self._context.current_time()
        if now >= self._next_log:
            self._log(error)
            self._next_log, self._unlogged = now + _LOG_INTERVAL, 0

    def _log(self, error: MalformedRecordError) -> None:
        more = f" (and {self._unlogged - 1} before it)" if self._unlogged > 1 else ""
        done = "skipped" if self._tag is None else f"sent to side output '{self._tag.tag_id}'"
        self._context.logger.warning(
            "%s: a malformed record%s was %s: %s", self._source, more, done, error
        )
