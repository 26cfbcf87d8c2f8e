"""Events that the watermark has not passed yet.

Within an epoch they are kept in lists; what is still there at its end goes to keyed state.
"""

from __future__ import annotations

from bisect import bisect_right
from heapq import heapify, heappop, heappush
from itertools import islice
from operator import le
from typing import Any, NamedTuple

from millrace.common.typeinfo import Types
from millrace.runtime.operator import OperatorContext
from millrace.state.internal_tables import WAITING_EVENTS
from millrace.state.nested_table import NestedTable

__all__ = ["Batch", "WaitingEvents"]

Place = tuple[int, int, int]
"""Event time (ms since the epoch), epoch, number within the epoch."""


class Batch(NamedTuple):
    """Events in order, as columns."""

    keys: list[Any]
    values: list[Any]
    times: list[int]


class WaitingEvents:
    """Puts events in the order of their times; those of the same time stay as they came."""

    def __init__(self, context: OperatorContext) -> None:
        state, uid = context.state, context.uid
        record = state.record_type(uid)
        declared = None if record is None else Types.MAP(Types.PICKLED_BYTE_ARRAY(), record)
        self._table: NestedTable = state.table(f"{uid}/{WAITING_EVENTS}", "map", declared)
        self._epoch = 0
        self.forget()

    def forget(self) -> None:
        """The table holds something else than before."""
        self._arrived = Batch([], [], [])
        self._number = 0
        self._stored: dict[int, list[tuple[Place, Any]]] = {}
        """By time: places and keys of what is in the table."""
        for key, rows in self._table.data.items():
            for place in rows:
                self._stored.setdefault(place[0], []).append((place, key))
        self._times = list(self._stored)
        heapify(self._times)

    def begin_epoch(self, epoch: int) -> None:
        """An epoch begins."""
        self._epoch = epoch
        self._number = 0

    def add(self, keys: list[Any], values: list[Any], times: list[int]) -> None:
        """Take events, none of which the watermark has passed."""
        self._arrived.keys.extend(keys)
        self._arrived.values.extend(values)
        self._arrived.times.extend(times)

    def take(self, watermark: int) -> Batch:
        """The events up to the watermark, in order; they wait no longer."""
        due = self._take_stored(watermark)
        arrived = _in_order(self._arrived)
        passed = _passed(arrived.times, watermark)
        self._arrived = Batch(*(column[passed:] for column in arrived))
        now = Batch(*(column[:passed] for column in arrived))
        if not due.keys:
            return now
        for stored, column in zip(due, now, strict=True):
            stored.extend(column)
        # the sort is stable, and what was stored came first
        return _in_order(due)

    def _take_stored(self, watermark: int) -> Batch:
        due: list[tuple[Place, Any]] = []
        while self._times and self._times[0] <= watermark:
            due += sorted(self._stored.pop(heappop(self._times)), key=_place)
        table = self._table
        table.prefetch({key for _, key in due})
        values = []
        for place, key in due:
            values.append(table.data[key][place])
            table.remove(key, place)
        return Batch([key for _, key in due], values, [place[0] for place, _ in due])

    def flush(self) -> None:
        """Write what still waits."""
        for key, value, time in zip(*self._arrived, strict=True):
            place = (time, self._epoch, self._number)
            self._number += 1
            self._table.put(key, place, value)
            stored = self._stored.get(time)
            if stored is None:
                self._stored[time] = [(place, key)]
                heappush(self._times, time)
            else:
                stored.append((place, key))
        self._arrived = Batch([], [], [])


def _place(stored: tuple[Place, Any]) -> Place:
    return stored[0]


def _in_order(batch: Batch) -> Batch:
    """The events by time; those of the same time as they are."""
    times = batch.times
    if all(map(le, times, islice(times, 1, None))):
        return batch
    order = sorted(range(len(times)), key=times.__getitem__)
    return Batch(*([column[index] for index in order] for column in batch))


def _passed(times: list[int], watermark: int) -> int:
    """How many of the sorted times are not after the watermark."""
    return bisect_right(times, watermark)
