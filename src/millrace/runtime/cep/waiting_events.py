"""Events that the watermark has not passed yet.

Within an epoch the events are kept in lists. At its end the remaining ones are written to keyed
state.
"""

from __future__ import annotations

from bisect import bisect_right
from heapq import heapify, heappop, heappush
from itertools import islice
from operator import le
from typing import Any, NamedTuple

from millrace.runtime.buffer import MAX_WATERMARK
from millrace.runtime.operator import OperatorContext
from millrace.state.internal_tables import WAITING_EVENTS
from millrace.state.nested_table import NestedTable

__all__ = ["EventColumns", "WaitingEvents"]

MOST_RUNS = 16
"""Maximum number of ordered runs of events. More are merged."""

Place = tuple[int, int, int]
"""Event time (ms since the epoch), epoch, number within the epoch."""


class EventColumns(NamedTuple):
    """Columns of events: their keys, values and times."""

    keys: list[Any]
    values: list[Any]
    times: list[int]


class WaitingEvents:
    """Keeps events until the watermark passes them, in runs ordered by time."""

    def __init__(self, context: OperatorContext) -> None:
        self._table: NestedTable = context.state.records_table(context.uid, WAITING_EVENTS)
        self._epoch = 0
        self.forget()

    def forget(self) -> None:
        """Drop all cached objects, because the table has changed."""
        self._runs: list[_Run] = []
        self._number = 0
        self._stored: dict[int, list[tuple[Place, Any]]] = {}
        """Places and keys of the events in the table, by time."""
        for key, rows in self._table.data.items():
            for place in rows:
                self._stored.setdefault(place[0], []).append((place, key))
        self._times = list(self._stored)
        heapify(self._times)

    def begin_epoch(self, epoch: int) -> None:
        """Begin an epoch."""
        self._epoch = epoch
        self._number = 0

    def add(self, keys: list[Any], values: list[Any], times: list[int]) -> None:
        """Add events that the watermark has not passed."""
        if not times:
            return
        batch = _in_order(EventColumns(keys, values, times))
        runs = self._runs
        if len(runs) == MOST_RUNS:
            runs[:] = [_Run(_merged(runs))]
        if not runs or runs[-1].events.times[-1] > batch.times[0]:
            runs.append(_Run(EventColumns([], [], [])))
        for column, more in zip(runs[-1].events, batch, strict=True):
            column += more

    def take(self, watermark: int) -> EventColumns:
        """Remove the events up to the watermark and return them. They are not sorted by time, so
        that a caller that needs only a few keys sorts less. Events of the same time keep their
        order of arrival.
        """
        due = self._take_stored(watermark)
        for run in self._runs:
            run.take(watermark, due)
        self._runs = [run for run in self._runs if run]
        return due

    def _take_stored(self, watermark: int) -> EventColumns:
        due: list[tuple[Place, Any]] = []
        while self._times and self._times[0] <= watermark:
            due += sorted(self._stored.pop(heappop(self._times)), key=_place)
        table = self._table
        table.prefetch({key for _, key in due})
        values = []
        for place, key in due:
            values.append(table.data[key][place])
            table.remove(key, place)
        return EventColumns([key for _, key in due], values, [place[0] for place, _ in due])

    def flush(self) -> None:
        """Write the still waiting events to the state."""
        for key, value, time in zip(*_merged(self._runs), strict=True):
            place = (time, self._epoch, self._number)
            self._number += 1
            self._table.put(key, place, value)
            stored = self._stored.get(time)
            if stored is None:
                self._stored[time] = [(place, key)]
                heappush(self._times, time)
            else:
                stored.append((place, key))
        self._runs = []


class _Run:
    """Events ordered by time. The first ``start`` of them have been taken."""

    __slots__ = ("events", "start")

    def __init__(self, events: EventColumns) -> None:
        self.events = events
        self.start = 0

    def __bool__(self) -> bool:
        return self.start < len(self.events.times)

    def take(self, watermark: int, due: EventColumns) -> None:
        """Move the events up to the watermark to ``due``."""
        start = self.start
        self.start = bisect_right(self.events.times, watermark, start)
        for column, own in zip(due, self.events, strict=True):
            column += own[start : self.start]


def _merged(runs: list[_Run]) -> EventColumns:
    """Several runs of waiting events merged in order."""
    whole = EventColumns([], [], [])
    for run in runs:
        run.take(MAX_WATERMARK, whole)
    return _in_order(whole)


def _place(stored: tuple[Place, Any]) -> Place:
    return stored[0]


def _in_order(batch: EventColumns) -> EventColumns:
    """Events ordered by time. Events of the same time keep their order."""
    times = batch.times
    if all(map(le, times, islice(times, 1, None))):
        return batch
    order = sorted(range(len(times)), key=times.__getitem__)
    return EventColumns(*(list(map(column.__getitem__, order)) for column in batch))
