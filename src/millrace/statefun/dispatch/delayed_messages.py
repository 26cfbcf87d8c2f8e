"""Messages that are sent later: timers in processing time, kept with the state of the sender."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import Any

from millrace.state.nested_table import NestedTable
from millrace.statefun.invocation.batch import DelayedMessage, PlainMessage, plain

__all__ = ["DelayedMessages"]

_LONGEST_DELAY_MS = 100 * 365 * 86_400_000
"""Longest delay of a message: clocks cannot wait for the largest number of the protocol."""


class DelayedMessages:
    """Delayed messages of a subtask.

    Args:
        table: map state by the sender's id. Its inner keys are numbers, its values the time (ms
            since 1970), the token and the message.
    """

    def __init__(self, table: NestedTable) -> None:
        self._table = table
        self.refresh()

    def refresh(self) -> None:
        """Compute times and tokens again from the table, because the table was replaced."""
        self._heap: list[tuple[int, int, Any]] = []
        """Time, number and sender's id."""
        self._tokens: dict[tuple[Any, str], list[int]] = {}
        self._next_number = 0
        for id, entries in self._table.data.items():
            for number, (at, token, _) in entries.items():
                self._heap.append((at, number, id))
                self._next_number = max(self._next_number, number + 1)
                if token:
                    self._tokens.setdefault((id, token), []).append(number)
        heapify(self._heap)

    def add(self, sender: str, delayed: DelayedMessage, now: int) -> None:
        """Keep a message until its time. Or, if it is a cancellation, drop the messages with its
        token that an id has sent."""
        if delayed.message is None:
            for number in self._tokens.pop((sender, delayed.token), ()):
                self._table.remove(sender, number)
            return
        number, self._next_number = self._next_number, self._next_number + 1
        at = now + min(delayed.delay_ms, _LONGEST_DELAY_MS)
        self._table.put(sender, number, (at, delayed.token, plain(delayed.message)))
        heappush(self._heap, (at, number, sender))
        if delayed.token:
            self._tokens.setdefault((sender, delayed.token), []).append(number)

    def due(self, now: int) -> list[PlainMessage]:
        """Remove and return the messages that are due, in the order of their times."""
        messages = []
        while self._heap and self._heap[0][0] <= now:
            _, number, sender = heappop(self._heap)
            stored = self._table.data.get(sender, {}).get(number)
            if stored is None:
                continue  # cancelled
            self._table.remove(sender, number)
            _, token, message = stored
            if token:
                numbers = self._tokens[sender, token]
                numbers.remove(number)
                if not numbers:
                    del self._tokens[sender, token]
            messages.append(message)
        return messages

    def earliest(self) -> int | None:
        """Time of the next message in ms since 1970; None if there is no message."""
        heap, data = self._heap, self._table.data
        while heap and heap[0][1] not in data.get(heap[0][2], ()):
            heappop(heap)
        return heap[0][0] if heap else None
