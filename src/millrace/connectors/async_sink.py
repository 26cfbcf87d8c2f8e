"""`AsyncSinkWriter`: buffers entries, sends them in requests, and resends entries that were not
accepted.

For systems that take many entries per request and may refuse some of them. Flink: FLIP-171,
``AsyncSinkBase``. A request follows the one before only when nothing of that is left to be sent, so
an entry that is sent again can never replace a newer one.
"""

from __future__ import annotations

import logging
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Any, Generic, TypeVar

from millrace.common.sink import SinkWriter, WriterContext
from millrace.connectors.retries import Pauses

__all__ = ["AsyncSinkWriter", "BufferLimits", "UnsentEntries"]

E = TypeVar("E")


@dataclass(frozen=True)
class BufferLimits:
    """Maximum number of entries and bytes of one request."""

    entries: float = math.inf
    bytes: float = math.inf


@dataclass(frozen=True)
class UnsentEntries(Generic[E]):
    """Entries of a request that must be sent again."""

    entries: list[E]
    failure: Exception | None = None
    """Why they did not get in. None: they were not tried, and no retry is counted."""


class AsyncSinkWriter(SinkWriter[Any], ABC, Generic[E]):
    """Base of writers that send entries in requests; an epoch ends when all its entries are
    accepted.

    A subclass makes entries of records and calls `_add`, and it defines `_request`, `_pauses` and
    `_gave_up`. What it raises from these fails the epoch.

    Args:
        sleep: waits between retries; replaced by tests.
    """

    def __init__(
        self,
        context: WriterContext,
        limits: BufferLimits,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._logger: logging.Logger = context.logger
        self._limits = limits
        self._sleep = sleep
        self._sent = context.metrics.counter("numRecordsSend")
        self._waiting: dict[Any, tuple[E, int]] = {}
        """Entries and their sizes by key."""
        self._bytes = 0
        self._numbers = count()

    @abstractmethod
    def _request(self, entries: list[E]) -> UnsentEntries[E]:
        """Send entries in one request and return the entries that must be sent again."""

    @abstractmethod
    def _pauses(self) -> Pauses:
        """The pauses before the retries of a request."""

    @abstractmethod
    def _gave_up(self, unsent: UnsentEntries[E], tries: int) -> None:
        """Raise the error that fails the epoch, or return to skip these entries."""

    def _add(self, entry: E, size: int = 0, key: Any = None) -> None:
        """Buffer an entry, and send all full requests.

        Args:
            size: bytes.
            key: key of the entry; of entries with the same key in one request, only the last is
                sent.
        """
        waiting = self._waiting
        if waiting and self._bytes + size > self._limits.bytes:
            self._send_waiting()
        if key is None:
            key = "number", next(self._numbers)
        elif key in waiting:
            self._bytes -= waiting.pop(key)[1]
        waiting[key] = entry, size
        self._bytes += size
        if len(waiting) >= self._limits.entries:
            self._send_waiting()

    def flush(self, end_of_input: bool) -> None:
        if self._waiting:
            self._send_waiting()

    def _send_waiting(self) -> None:
        entries = [entry for entry, _ in self._waiting.values()]
        self._waiting.clear()
        self._bytes = 0
        self._sent.inc(len(entries))
        self._send(entries)

    def _send(self, entries: list[E]) -> None:
        """Send entries until all are accepted."""
        self._try(self._request, entries)

    def _try(self, request: Callable[[list[Any]], UnsentEntries[Any]], entries: list[Any]) -> None:
        """Make requests until no entries are left."""
        pauses, tries = self._pauses(), 0
        while entries:
            begun = time.monotonic()
            unsent = request(entries)
            if unsent.failure is not None:
                tries += 1
                progress = len(unsent.entries) < len(entries)
                pause = pauses.next(progress, time.monotonic() - begun)
                if pause is None:
                    self._gave_up(unsent, tries)
                    return
                self._logger.log(
                    logging.INFO if progress else logging.WARNING,
                    "%d records are sent again in %g s: %s",
                    len(unsent.entries), pause, unsent.failure,
                )  # fmt: skip
                self._sleep(pause)
            entries = unsent.entries
