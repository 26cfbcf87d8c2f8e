"""Asynchronous I/O: many requests under way at once, also across the end of an epoch.

Requests that are under way when an epoch ends are part of the checkpoint, with the watermarks that
wait for them; a subtask that restores them starts them again. If the parallelism has changed,
requests are redistributed, and of the watermarks the one that all subtasks had reached comes after
all of them.

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
from millrace.runtime.async_requests import AsyncRequests, Done
from millrace.runtime.buffer import MAX_WATERMARK
from millrace.runtime.declared_state import DeclaredValue, declared_table
from millrace.runtime.detached import detached
from millrace.runtime.function_operator import FunctionOperator
from millrace.runtime.operator_state_declaration import OperatorStateDeclaration
from millrace.state.internal_tables import REQUESTS
from millrace.state.redistribution_mode import RedistributionMode

LULL = 0.02
"""How long (seconds) an epoch without records waits for a request to end, so that epochs do not
chase each other."""
SOON = 10
"""Milliseconds until the next epoch is wanted while requests are under way."""


@dataclass
class _Waiting:
    """A record whose request is under way, or a watermark behind such records."""

    number: int
    value: Any = None
    timestamp: int | None = None
    watermark: int | None = None
    results: list[Any] | None = None
    entry: tuple[Any, int | None] | None = None
    """What the table has of it."""

    @property
    def is_watermark(self) -> bool:
        """Whether it is a watermark."""
        return self.watermark is not None


@dataclass(frozen=True)
class AsyncSpec:
    """How requests are made."""

    timeout_ms: int
    capacity: int
    ordered: bool
    retry: AsyncRetryStrategy
    drain: bool = False
    """Wait for all requests at the end of every epoch instead of carrying them over."""


_BEHIND_ALL = 1 << 62
"""The number of a watermark that comes after all requests, however many there are."""


def _merged_marks(
    kept: list[tuple[int, list[tuple[int, int]]]],
) -> tuple[int, list[tuple[int, int]]]:
    """The watermarks among requests that are redistributed: the one that all subtasks had reached
    comes after all of them."""
    passed = min(watermark for watermark, _ in kept)
    reached = min(marks[-1][1] if marks else watermark for watermark, marks in kept)
    return passed, [(_BEHIND_ALL, reached)] if reached > passed else []


_REQUESTS = OperatorStateDeclaration(REQUESTS, RedistributionMode.SPLIT)
_MARKS = OperatorStateDeclaration("@watermarks", RedistributionMode.MERGE, _merged_marks)
"""The last watermark that was emitted, and those that wait among requests."""


class AsyncWaitOperator(FunctionOperator):
    """Makes a request for every record and emits what they give."""

    operator_states = _REQUESTS, _MARKS

    def __init__(self, function: Any, spec: AsyncSpec) -> None:
        super().__init__(function)
        self._spec = spec

    def open(self) -> None:
        super().open()
        self._table = declared_table(self, _REQUESTS)
        self._marks = DeclaredValue(self, _MARKS)
        self._requests: AsyncRequests | None = None
        self._reset()

    def _reset(self) -> None:
        self._waiting: deque[_Waiting] = deque()
        self._by_number: dict[int, _Waiting] = {}
        """Records whose requests have not ended."""
        self._next = 0
        self._records = 0

    def restore(self) -> None:
        spec = self._spec
        if self._requests is None:
            self._requests = AsyncRequests(self.function, spec.timeout_ms / 1000, spec.retry)
        self._requests.give_up()
        self._reset()
        self.watermark, watermarks = self._marks.get((self.watermark, ()))
        for waiting in self._restored(watermarks):
            if waiting.number == _BEHIND_ALL:
                waiting.number = self._next
            self._wait(waiting)
            self._next = waiting.number + 1
        self._start([w for w in self._waiting if not w.is_watermark])

    def _restored(self, watermarks: Sequence[tuple[int, int]]) -> list[_Waiting]:
        """What waited, in its order."""
        entries = self._table.data.items()
        records = [_Waiting(place[1], entry[0], entry[1], entry=entry) for place, entry in entries]
        marks = [_Waiting(number, watermark=watermark) for number, watermark in watermarks]
        return sorted([*records, *marks], key=attrgetter("number"))

    def close(self) -> None:
        if self._requests is not None:
            self._requests.close()
        super().close()

    # -- what comes in -----------------------------------------------------------------

    def begin_epoch(self, epoch: int, now: int) -> None:
        super().begin_epoch(epoch, now)
        self._records = 0
        self._collect(0.0)

    def process(self, values: list[Any], timestamps: list[int] | None) -> None:
        self._records += len(values)
        start = 0
        while start < len(values):
            free = self._spec.capacity - len(self._waiting)
            if free <= 0:
                self._collect(None)
                continue
            end = min(start + free, len(values))
            fresh = [
                _Waiting(self._take_number(), values[i], timestamps[i] if timestamps else None)
                for i in range(start, end)
            ]
            for waiting in fresh:
                self._wait(waiting)
            self._start(fresh)
            start = end
        self._collect(0.0)

    def process_watermark(self, timestamp: int) -> None:
        if self._waiting:
            if self._waiting[-1].is_watermark:
                self._waiting[-1].watermark = timestamp
            else:
                self._wait(_Waiting(self._take_number(), watermark=timestamp))
        else:
            super().process_watermark(timestamp)
        if timestamp == MAX_WATERMARK:
            self._drain()

    def end_epoch(self, ended: bool) -> None:
        if self._spec.drain:
            self._drain()
        elif self._by_number and not self._records:
            self._collect(LULL)
        self._keep()
        super().end_epoch(ended)

    def idle_after(self, idle: bool) -> bool:
        """What waits holds its watermark back; an idle channel would not."""
        return idle and not self._waiting

    def next_wakeup(self) -> int | None:
        return self.context.clock() + SOON if self._waiting else None

    def _take_number(self) -> int:
        self._next += 1
        return self._next - 1

    def _wait(self, waiting: _Waiting) -> None:
        self._waiting.append(waiting)
        if not waiting.is_watermark:
            self._by_number[waiting.number] = waiting

    def _start(self, fresh: list[_Waiting]) -> None:
        assert self._requests is not None
        if fresh:
            self._requests.start([(waiting.number, detached(waiting.value)) for waiting in fresh])

    # -- what comes out ----------------------------------------------------------------

    def _drain(self) -> None:
        while self._by_number:
            self._collect(None)

    def _collect(self, wait: float | None) -> None:
        """Take what has ended and emit what may be emitted."""
        assert self._requests is not None
        for done in self._requests.ended(wait):
            value = self._by_number[done.number].value
            self._by_number.pop(done.number).results = self._results(value, done)
        if self._spec.ordered:
            self._emit_ordered()
        else:
            self._emit_unordered()

    def _results(self, value: Any, done: Done) -> list[Any]:
        """What a request gave; raises what it failed with (for ``value``)."""
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
        batch: list[_Waiting] = []
        while self._waiting and (
            self._waiting[0].is_watermark or self._waiting[0].results is not None
        ):
            first = self._waiting.popleft()
            if first.is_watermark:
                self._emit_batch(batch)
                batch = []
                self._pass_on(first)
            else:
                batch.append(first)
        self._emit_batch(batch)

    def _emit_unordered(self) -> None:
        """Records may overtake records, but not watermarks."""
        while self._waiting:
            ended: list[_Waiting] = []
            left: list[_Waiting] = []
            while self._waiting and not self._waiting[0].is_watermark:
                waiting = self._waiting.popleft()
                (left if waiting.results is None else ended).append(waiting)
            self._emit_batch(ended)
            if left:
                self._waiting.extendleft(reversed(left))
                return
            if self._waiting:
                self._pass_on(self._waiting.popleft())

    def _emit_batch(self, batch: list[_Waiting]) -> None:
        for timed, alike in groupby(batch, lambda waiting: waiting.timestamp is not None):
            results: list[Any] = []
            times: list[Any] = []
            for waiting in alike:
                results.extend(waiting.results or ())
                times.extend([waiting.timestamp] * (len(results) - len(times)))
            self.emit_results(results, times if timed else None)

    def _pass_on(self, waiting: _Waiting) -> None:
        assert waiting.watermark is not None
        super().process_watermark(waiting.watermark)

    def _keep(self) -> None:
        """Make the tables hold just what waits now."""
        index, table = self.context.subtask_index, self._table
        waiting = {(index, w.number): w for w in self._waiting if not w.is_watermark}
        for place in [place for place in table.data if place not in waiting]:
            table.remove(place)
        for place, record in waiting.items():
            if record.entry is None or table.data.get(place) is not record.entry:
                record.entry = (record.value, record.timestamp)
                table.put(place, record.entry)
        marks = [(w.number, w.watermark) for w in self._waiting if w.is_watermark]
        self._marks.put((self.watermark, marks))
