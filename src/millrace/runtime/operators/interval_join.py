"""Interval join: pairs of records of one key whose event times are within an interval.

Each side keeps its records per key until no later record of the other can match them. A derived
index, sorted by time, finds the matches. Semantics: Flink docs, "Joining", Interval Join; class
``IntervalJoinOperator``.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import Any

from millrace.common.errors import JobExecutionError
from millrace.common.functions.base import Function
from millrace.common.functions.join_functions import ProcessJoinFunction
from millrace.common.functions.output_tag import OutputTag
from millrace.runtime.detached import are_immutable, detached
from millrace.runtime.epoch import EpochContext
from millrace.runtime.function_operator import FunctionOperator, as_callable
from millrace.runtime.late_records import LateRecords
from millrace.runtime.produced_records import producing
from millrace.state.frozen import is_immutable
from millrace.state.internal_tables import JOINED_LEFT, JOINED_RIGHT
from millrace.state.nested_table import NestedTable

KeyBatch = Callable[[list[Any]], list[Any]]
Place = tuple[int, int, int]
"""Event time (ms since the epoch), epoch, number within the epoch."""


@dataclass(frozen=True)
class Interval:
    """Bounds of right.time - left.time in ms, both inclusive."""

    lower: int
    upper: int
    left_late_tag: OutputTag[Any] | None = None
    right_late_tag: OutputTag[Any] | None = None


class _JoinContext(ProcessJoinFunction.Context):
    def __init__(self) -> None:
        self.left = self.right = 0

    def get_left_timestamp(self) -> int:
        return self.left

    def get_right_timestamp(self) -> int:
        return self.right

    def get_timestamp(self) -> int:
        return max(self.left, self.right)


class _Side:
    """Records of one side that may still find a match."""

    def __init__(self, table: NestedTable, lower: int, upper: int, keep: int) -> None:
        self.table = table
        self.lower, self.upper = lower, upper
        """Ms by which a match on the other side may be earlier or later than the record."""
        self._keep = keep
        self.forget()

    def forget(self) -> None:
        """Drop everything that is derived from the table."""
        self._index: dict[Any, list[Place]] = {}
        self._expiring: dict[int, list[tuple[Any, Place]]] = {}
        """Places of records, by event time."""
        self.mutable = False
        """Whether any stored record can be changed in place."""
        for key, entries in self.table.data.items():
            # one by one: on disk there may be more than memory takes
            for place, value in entries.items():
                self._expiring.setdefault(place[0], []).append((key, place))
                self.mutable = self.mutable or not is_immutable(value)
        self._times = list(self._expiring)
        heapify(self._times)

    def add(self, key: Any, place: Place, value: Any) -> None:
        """Add a record."""
        index = self._index.get(key)
        if index is not None:
            insort(index, place)
        elif key not in self.table.data:
            self._index[key] = [place]
        self.table.put_new(key, place, value)  # no two records have one place
        expiring = self._expiring.get(place[0])
        if expiring is None:
            self._expiring[place[0]] = [(key, place)]
            heappush(self._times, place[0])
        else:
            expiring.append((key, place))

    def between(self, key: Any, low: int, high: int) -> list[tuple[int, Any]]:
        """Event times and records of a key from ``low`` to ``high``, both inclusive."""
        entries = self.table.data.get(key)
        if entries is None:
            return []
        index = self._index.get(key)
        if index is None:
            index = self._index[key] = sorted(entries)
        start = bisect_left(index, (low, -1, -1))
        end = bisect_left(index, (high + 1, -1, -1), lo=start)
        return [(place[0], entries[place]) for place in index[start:end]]

    def expire(self, watermark: int) -> None:
        """Delete the records that no record after the watermark can match."""
        last = watermark - self._keep
        while self._times and self._times[0] <= last:
            for key, place in self._expiring.pop(heappop(self._times)):
                self.table.remove(key, place)
                index = self._index.get(key)
                if index is not None:
                    del index[bisect_left(index, place)]
                    if not index:
                        del self._index[key]


class IntervalJoinOperator(FunctionOperator):
    """Joins two keyed streams. ``key_batches`` extract the keys of each input's batches."""

    def __init__(
        self, function: Any, interval: Interval, key_batches: tuple[KeyBatch, KeyBatch]
    ) -> None:
        super().__init__(function)
        self._interval = interval
        self._key_batches = key_batches

    def open(self) -> None:
        super().open()
        lower, upper = self._interval.lower, self._interval.upper
        state, uid = self.context.state, self.context.uid
        left, right = (
            state.records_table(uid, JOINED_LEFT, 0),
            state.records_table(uid, JOINED_RIGHT, 1),
        )
        self._sides = (
            _Side(left, lower, upper, max(upper, 0)),
            _Side(right, -upper, -lower, max(-lower, 0)),
        )
        self._context = _JoinContext()
        self._with_context = isinstance(self.function, Function)
        call = as_callable(self.function, "process_element")
        self._call = producing(call) if self._with_context else call
        self._late = LateRecords(self)
        self._number = 0

    def restore(self) -> None:
        for side in self._sides:
            side.forget()

    def begin_epoch(self, epoch: EpochContext) -> None:
        super().begin_epoch(epoch)
        self._number = 0

    def process_input(self, number: int, values: list[Any], timestamps: list[int] | None) -> None:
        if timestamps is None:
            raise JobExecutionError(
                f"operator '{self.context.name}' is an interval join but records of its "
                f"{'right' if number else 'left'} input carry no event time; call "
                "assign_timestamps_and_watermarks with a timestamp assigner before it"
            )
        own, other = self._sides[number], self._sides[1 - number]
        own.mutable = own.mutable or not are_immutable(values)
        self._copying = own.mutable or other.mutable
        late: list[int] = []
        results: list[Any] = []
        times: list[int] = []
        keys = self._key_batches[number](values)
        own.table.prefetch(keys)
        other.table.prefetch(keys)
        epoch, first, watermark = self._epoch, self._number, self.watermark
        for index, (key, value, time) in enumerate(zip(keys, values, timestamps, strict=True)):
            if time < watermark:
                late.append(index)
                continue
            own.add(key, (time, epoch, first + index), value)
            partners = other.between(key, time + own.lower, time + own.upper)
            for other_time, other_value in partners:
                pair = (value, other_value) if number == 0 else (other_value, value)
                when = (time, other_time) if number == 0 else (other_time, time)
                self._join(pair, when, results)
                times.extend([max(time, other_time)] * (len(results) - len(times)))
        self._number = first + len(values)
        self.emit_results(results, times)
        if late:
            tag = (self._interval.left_late_tag, self._interval.right_late_tag)[number]
            self._late.take(tag, late, values, timestamps)

    def _join(self, pair: tuple[Any, Any], when: tuple[int, int], results: list[Any]) -> None:
        left, right = map(detached, pair) if self._copying else pair
        if not self._with_context:
            results.append(self._call(left, right))
            return
        self._context.left, self._context.right = when
        produced = self._call(left, right, self._context)
        if produced is not None:
            results.extend(produced)

    def process_watermark(self, timestamp: int) -> None:
        for side in self._sides:
            side.expire(timestamp)
        super().process_watermark(timestamp)
