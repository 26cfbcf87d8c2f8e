"""Operator of asynchronous I/O: many concurrent requests, which may continue across epochs.

Requests that are in flight when an epoch ends are part of the checkpoint, with the watermarks
queued behind them. A subtask that restores them starts them again. If the parallelism has changed,
requests are redistributed, and the smallest of the subtasks' last watermarks is queued behind all
of them.

Semantics: Flink docs, "Asynchronous I/O for External Data Access".
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import Any

from millrace.common.errors import JobExecutionError
from millrace.common.functions.async_functions import AsyncRetryStrategy
from millrace.runtime.async_requests import AsyncRequests, CompletedRequest
from millrace.runtime.buffer import MAX_WATERMARK
from millrace.runtime.declared_state import DeclaredValue, declared_table
from millrace.runtime.detached import detached
from millrace.runtime.epoch import Ack, EpochContext
from millrace.runtime.function_operator import FunctionOperator
from millrace.runtime.operator_state_declaration import OperatorStateDeclaration
from millrace.state.internal_tables import REQUESTS
from millrace.state.redistribution_mode import RedistributionMode

IDLE_WAIT_SECONDS = 0.02
"""Seconds that an epoch without records waits for a request to end, so that the driver does not run
one empty epoch after the other."""
WAKE_UP_INTERVAL_MS = 10
"""Milliseconds until the next wake-up while requests are in flight, unless they wake the loop."""


@dataclass
class _QueueEntry:
    """A record whose request is in flight or has ended, or a watermark that follows such
    records."""

    number: int
    value: Any = None
    timestamp: int | None = None
    watermark: int | None = None
    results: list[Any] | None = None
    entry: tuple[Any, int | None] | None = None
    """The record's (value, timestamp) in the table of requests. None if it is not written yet."""

    @property
    def is_watermark(self) -> bool:
        """Whether the entry is a watermark."""
        return self.watermark is not None


@dataclass(frozen=True)
class AsyncSpec:
    """Settings of asynchronous requests: timeout, capacity, order of results, retries."""

    timeout_ms: int
    capacity: int
    ordered: bool
    retry: AsyncRetryStrategy
    drain: bool = False
    """Whether every epoch waits for all requests at its end, instead of carrying them over."""


_BEHIND_ALL = 1 << 62
"""Number of a watermark that comes after all requests."""


def _merged_watermarks(
    restored: list[tuple[int, list[tuple[int, int]]]],
) -> tuple[int, list[tuple[int, int]]]:
    """Watermarks of a subtask that gets requests from several former subtasks: the smallest
    watermark emitted, and the smallest received. The second is queued after all requests."""
    emitted = min(watermark for watermark, _ in restored)
    received = min(queued[-1][1] if queued else watermark for watermark, queued in restored)
    return emitted, [(_BEHIND_ALL, received)] if received > emitted else []


_REQUESTS = OperatorStateDeclaration(REQUESTS, RedistributionMode.SPLIT)
_WATERMARKS = OperatorStateDeclaration("@watermarks", RedistributionMode.MERGE, _merged_watermarks)
"""Last emitted watermark, and (number, watermark) of the watermarks in the queue."""


class AsyncWaitOperator(FunctionOperator):
    """Starts an asynchronous request for every record and emits the results (Flink:
    ``AsyncWaitOperator``)."""

    operator_states = _REQUESTS, _WATERMARKS

    def __init__(self, function: Any, spec: AsyncSpec) -> None:
        super().__init__(function)
        self._spec = spec

    def open(self) -> None:
        super().open()
        self._table = declared_table(self, _REQUESTS)
        self._watermarks = DeclaredValue(self, _WATERMARKS)
        self._requests: AsyncRequests | None = None
        self._reset()

    def _reset(self) -> None:
        self._queue: deque[_QueueEntry] = deque()
        """Records and watermarks in the order of arrival."""
        self._in_flight: dict[int, _QueueEntry] = {}
        """Records whose requests have not ended, by number."""
        self._unstarted: deque[_QueueEntry] = deque()
        """Records for whose requests there is no capacity yet."""
        self._next_number = 0
        self._records_in_epoch = 0

    def restore(self) -> None:
        spec = self._spec
        if self._requests is None:
            wake = self.context.waker.wake
            self._requests = AsyncRequests(self.function, spec.timeout_ms / 1000, spec.retry, wake)
        self._requests.cancel_all()
        self._reset()
        self.watermark, watermarks = self._watermarks.get((self.watermark, ()))
        for queued in self._restored(watermarks):
            if queued.number == _BEHIND_ALL:
                queued.number = self._next_number
            self._enqueue(queued)
            self._next_number = queued.number + 1
        self._unstarted.extend(queued for queued in self._queue if not queued.is_watermark)
        self._start_waiting()

    def _restored(self, watermarks: Sequence[tuple[int, int]]) -> list[_QueueEntry]:
        """Queue of the operator, with requests from the state table and with ``watermarks``."""
        entries = self._table.data.items()
        records = [_QueueEntry(key[1], entry[0], entry[1], entry=entry) for key, entry in entries]
        behind = [_QueueEntry(number, watermark=watermark) for number, watermark in watermarks]
        return sorted([*records, *behind], key=attrgetter("number"))

    def close(self) -> None:
        if self._requests is not None:
            self._requests.close()
        super().close()

    # -- input ---------------------------------------------------------------------------

    def begin_epoch(self, epoch: EpochContext) -> None:
        super().begin_epoch(epoch)
        self._ends_run = epoch.ends_run
        self._must_not_wait = epoch.feeds_at_once  # other subtasks share the thread
        self._records_in_epoch = 0
        self._collect(0.0)

    def process(self, values: list[Any], timestamps: list[int] | None) -> None:
        self._records_in_epoch += len(values)
        if self._must_not_wait:
            self._take(values, timestamps)
            return
        start = 0
        while start < len(values):
            free = self._spec.capacity - len(self._queue)
            if free <= 0:
                self._collect(None)
                continue
            end = min(start + free, len(values))
            fresh = [
                _QueueEntry(self._take_number(), values[i], timestamps[i] if timestamps else None)
                for i in range(start, end)
            ]
            for queued in fresh:
                self._enqueue(queued)
            self._start(fresh)
            start = end
        self._collect(0.0)

    def _take(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Take all records, even if there are more than allowed, for example because an operator
        before this one has made many records from one. `room` keeps back what follows."""
        for index, value in enumerate(values):
            time = timestamps[index] if timestamps else None
            queued = _QueueEntry(self._take_number(), value, time)
            self._enqueue(queued)
            self._unstarted.append(queued)
        self._collect(0.0)
        self._start_waiting()

    def _start_waiting(self) -> None:
        """Start as many requests as there is capacity for."""
        waiting = self._unstarted
        free = self._spec.capacity - (len(self._in_flight) - len(waiting))
        self._start([waiting.popleft() for _ in range(min(free, len(waiting)))])

    def process_watermark(self, timestamp: int) -> None:
        if self._queue:
            if self._queue[-1].is_watermark:
                self._queue[-1].watermark = timestamp
            else:
                self._enqueue(_QueueEntry(self._take_number(), watermark=timestamp))
        else:
            super().process_watermark(timestamp)
        if timestamp == MAX_WATERMARK and not self._must_not_wait:
            self._drain()

    def advance_processing_time(self, now: int) -> None:
        if self._queue:
            self._collect(0.0)

    def end_epoch(self, ended: bool) -> None:
        if self._must_drain or (self._input_ended and not self._must_not_wait):
            self._drain()
        elif self._in_flight and not (self._records_in_epoch or self.context.waker.is_heard):
            self._collect(IDLE_WAIT_SECONDS)
        self._snapshot()
        super().end_epoch(ended)

    @property
    def _must_drain(self) -> bool:
        """Whether no request may be in flight at the end of the epoch."""
        return self._spec.drain or self._ends_run

    @property
    def _input_ended(self) -> bool:
        """Whether the input has ended, and the end waits for requests."""
        return bool(self._queue) and self._queue[-1].watermark == MAX_WATERMARK

    @property
    def holds_barrier(self) -> bool:
        return bool(self._in_flight) and self._must_drain

    @property
    def holds_end(self) -> bool:
        return self._input_ended

    def output_idle(self, input_idle: bool) -> bool:
        """Whether the output is idle. It is never idle while the queue holds back results or
        watermarks.
        """
        return input_idle and not self._queue

    def room(self) -> int | None:
        return max(0, self._spec.capacity - len(self._queue))

    def contribute(self, ack: Ack) -> None:
        super().contribute(ack)
        if self._queue:
            ack.loops.waits_for_requests = True
        if self.holds_end:
            ack.progress.ended, ack.loops.waits_to_end = False, True

    def next_wakeup(self) -> int | None:
        if not self._queue or self.context.waker.is_heard:
            return None  # a request that ends wakes the loop
        return self.context.clock() + WAKE_UP_INTERVAL_MS

    def _take_number(self) -> int:
        self._next_number += 1
        return self._next_number - 1

    def _enqueue(self, queued: _QueueEntry) -> None:
        self._queue.append(queued)
        if not queued.is_watermark:
            self._in_flight[queued.number] = queued

    def _start(self, fresh: list[_QueueEntry]) -> None:
        assert self._requests is not None
        if fresh:
            self._requests.start([(queued.number, detached(queued.value)) for queued in fresh])

    # -- output --------------------------------------------------------------------------

    def _drain(self) -> None:
        while self._in_flight:
            self._collect(None)

    def _collect(self, wait: float | None) -> None:
        """Take the results of ended requests, and emit the ones whose turn it is. ``wait`` is
        the time in seconds to wait for a result, None for no limit."""
        assert self._requests is not None
        for done in self._requests.ended(wait):
            queued = self._in_flight.pop(done.number)
            queued.results = self._results(queued.value, done)
        if self._spec.ordered:
            self._emit_ordered()
        else:
            self._emit_unordered()
        if self._unstarted:
            self._start_waiting()

    def _results(self, value: Any, done: CompletedRequest) -> list[Any]:
        """Results of a request. Raises the request's error if it failed."""
        # `describe_failure` finds the record of an error in the variable `value` of the traceback
        if done.error is not None:
            raise done.error
        if done.results is None:
            return []
        if isinstance(done.results, (str, bytes, dict)) or not hasattr(done.results, "__iter__"):
            raise JobExecutionError(
                f"operator '{self.context.name}' got {done.results!r}; an asynchronous function "
                "returns a list of results"
            )
        return list(done.results)

    def _emit_ordered(self) -> None:
        batch: list[_QueueEntry] = []
        while self._queue and (self._queue[0].is_watermark or self._queue[0].results is not None):
            first = self._queue.popleft()
            if first.is_watermark:
                self._emit_batch(batch)
                batch = []
                self._emit_watermark(first)
            else:
                batch.append(first)
        self._emit_batch(batch)

    def _emit_unordered(self) -> None:
        """Emit all available results. Records may overtake records, but not watermarks."""
        while self._queue:
            ended: list[_QueueEntry] = []
            in_flight: list[_QueueEntry] = []
            while self._queue and not self._queue[0].is_watermark:
                first = self._queue.popleft()
                (in_flight if first.results is None else ended).append(first)
            self._emit_batch(ended)
            if in_flight:
                self._queue.extendleft(reversed(in_flight))
                return
            if self._queue:
                self._emit_watermark(self._queue.popleft())

    def _emit_batch(self, batch: list[_QueueEntry]) -> None:
        for timed, alike in groupby(batch, lambda queued: queued.timestamp is not None):
            results: list[Any] = []
            times: list[Any] = []
            for queued in alike:
                results.extend(queued.results or ())
                times.extend([queued.timestamp] * (len(results) - len(times)))
            self.emit_results(results, times if timed else None)

    def _emit_watermark(self, queued: _QueueEntry) -> None:
        assert queued.watermark is not None
        super().process_watermark(queued.watermark)

    def _snapshot(self) -> None:
        """Write the changes of the queue since the last epoch to the operator state."""
        index, table = self.context.subtask_index, self._table
        records = {(index, q.number): q for q in self._queue if not q.is_watermark}
        for key in [key for key in table.data if key not in records]:
            table.remove(key)
        for key, record in records.items():
            if record.entry is None or table.data.get(key) is not record.entry:
                record.entry = (record.value, record.timestamp)
                table.put(key, record.entry)
        watermarks = [(q.number, q.watermark) for q in self._queue if q.is_watermark]
        self._watermarks.put((self.watermark, watermarks))
