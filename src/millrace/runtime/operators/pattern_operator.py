"""Base of operators that find patterns: sorts events by time, advances time, and emits the results
of matches.

Semantics: Flink docs, "FlinkCEP"; class ``CepOperator``. Events wait until the watermark has passed
them; what comes out is in the order of time over all keys.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cmp_to_key
from itertools import compress
from typing import Any

from millrace.common.errors import JobExecutionError
from millrace.common.functions.base import Function
from millrace.common.functions.output_tag import OutputTag
from millrace.common.functions.pattern_functions import (
    PatternProcessFunction,
    TimedOutPartialMatchHandler,
)
from millrace.common.functions.runtime_context import RuntimeContext
from millrace.runtime.buffer import MAX_WATERMARK
from millrace.runtime.cep.automaton import Automaton
from millrace.runtime.cep.deadlines import Deadlines
from millrace.runtime.cep.partial_match import FoundMatch, KeyMatches, Matches, events_of
from millrace.runtime.cep.partial_match_limit import PartialMatchLimit
from millrace.runtime.cep.pattern_runtime_context import PatternRuntimeContext
from millrace.runtime.cep.shared_buffer import SharedBuffer
from millrace.runtime.cep.waiting_events import EventColumns, WaitingEvents
from millrace.runtime.detached import detached
from millrace.runtime.epoch import EpochContext
from millrace.runtime.function_operator import FunctionOperator
from millrace.runtime.keyed_state import KeyedStates
from millrace.runtime.late_records import LateRecords
from millrace.runtime.metrics import RegisteredGroup
from millrace.runtime.produced_records import records_of
from millrace.runtime.runtime_context import StreamRuntimeContext

__all__ = [
    "PatternOperator",
    "Results",
    "close_conditions",
    "open_conditions",
    "rich_conditions",
]

Results = list[tuple[int, Any]]
"""Times (ms since the epoch) and records."""


class _MatchContext(PatternProcessFunction.Context):
    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock = clock
        self.time = 0
        self.key: Any = None

    def timestamp(self) -> int:
        return self.time

    def current_processing_time(self) -> int:
        return self._clock()

    def get_current_key(self) -> Any:
        return self.key


class PatternOperator(FunctionOperator):
    """Runs a `PatternProcessFunction` on the matches found.

    Args:
        key_batch: function that extracts the keys of a batch.
        comparator: order of events of the same time: negative, zero or positive. In processing time
            it orders all events between two calls of `flush`, or of an epoch.
        late_tag: side output for events that come after the watermark has passed them.
        event_time: whether events are ordered by event time. Otherwise they are processed in the
            order of arrival, at the time of the clock.
        keyed: whether the keys are the user's own.
        limit: limit of the partial matches of a key. None if there is none.
    """

    def __init__(
        self,
        function: PatternProcessFunction[Any, Any],
        key_batch: Callable[[list[Any]], list[Any]],
        comparator: Callable[[Any, Any], int] | None = None,
        late_tag: OutputTag[Any] | None = None,
        event_time: bool = True,
        keyed: bool = True,
        limit: PartialMatchLimit | None = None,
    ) -> None:
        super().__init__(function)
        self._keys_of = key_batch
        self._by_rank = None if comparator is None else cmp_to_key(comparator)
        self._late_tag = late_tag
        self._event_time = event_time
        self._keyed = keyed
        self._limit = limit

    @abstractmethod
    def make_buffer(self) -> SharedBuffer:
        """Create the buffer for partial matches."""

    @abstractmethod
    def _matched(self, batch: EventColumns) -> Results:
        """Results of events that time has reached."""

    @abstractmethod
    def _advanced(self, time: int) -> Results:
        """Results of the passing of time."""

    def open(self) -> None:
        super().open()
        self._context = _MatchContext(self.context.clock)
        self._buffer = self.make_buffer()
        self._waiting = WaitingEvents(self.context)
        self._deadlines = Deadlines()
        self._late = LateRecords(self)
        metrics = RegisteredGroup(self.context.metrics)
        metrics.gauge("numPartialMatches", lambda: self._buffer.partial_matches)
        self._dropped = metrics.counter("numPartialMatchesDropped")
        self._process_match = self.function.process_match
        self._process_timed_out = _timed_out_handler(self.function)

    def runtime_context(self, states: KeyedStates | None = None) -> StreamRuntimeContext:
        return PatternRuntimeContext(self.context, None)

    def begin_epoch(self, epoch: EpochContext) -> None:
        super().begin_epoch(epoch)
        self._waiting.begin_epoch(epoch.number)
        self._arrived = EventColumns([], [], [])
        """In processing time, the events that are not ordered yet."""

    def advance_processing_time(self, now: int) -> None:
        if not self._event_time:
            self._emit(self._advanced(now))

    def process(self, values: list[Any], timestamps: list[int] | None) -> None:
        if not values:
            return
        keys = self._keys_of(values)
        if not self._event_time:
            self._process_at_once(EventColumns(keys, values, [self.context.clock()] * len(values)))
            return
        if timestamps is None:
            raise JobExecutionError(
                f"operator '{self.context.name}' looks for a pattern in event time but its records "
                "carry no event time; call assign_timestamps_and_watermarks with a timestamp "
                "assigner before it, or in_processing_time()"
            )
        watermark = self.watermark
        if min(timestamps) > watermark:
            self._waiting.add(keys, values, timestamps)
            return
        late = [index for index, time in enumerate(timestamps) if time <= watermark]
        timely = [index for index, time in enumerate(timestamps) if time > watermark]
        self._late.take(self._late_tag, late, values, timestamps)
        self._waiting.add(
            [keys[i] for i in timely], [values[i] for i in timely], [timestamps[i] for i in timely]
        )

    def _process_at_once(self, batch: EventColumns) -> None:
        """Process events in processing time. If there is a comparator, they wait for those of
        the same instant."""
        if self._by_rank is None:
            self._emit(self._matched(batch))
        else:
            for column, more in zip(self._arrived, batch, strict=True):
                column += more

    def _end_instant(self) -> None:
        """Process the events of an instant, after the last one has come."""
        arrived, self._arrived = self._arrived, EventColumns([], [], [])
        if arrived.values:
            self._emit(self._matched(arrived))

    def process_watermark(self, timestamp: int) -> None:
        if self._event_time:
            results = self._matched(self._waiting.take(timestamp))
            self._emit(results + self._advanced(timestamp))
        elif timestamp == MAX_WATERMARK:
            self._end_instant()
        super().process_watermark(timestamp)

    def flush(self) -> None:
        self._end_instant()

    def next_wakeup(self) -> int | None:
        if self._event_time or self.watermark == MAX_WATERMARK:
            return None
        return self._deadlines.earliest()

    def end_epoch(self, ended: bool) -> None:
        self._end_instant()
        self._waiting.flush()
        self._buffer.flush()
        super().end_epoch(ended)

    def _is_past(self, live: KeyMatches, value: Any, time: int) -> bool:
        """Whether an event is earlier than the events that the key's partial matches have taken.
        If so, it is processed as a late event. The watermark does not always show this, because
        it may have started over."""
        if time >= live.time or not live:
            return False
        self._late.take(self._late_tag, [0], [value], [time])
        return True

    # -- for subclasses --------------------------------------------------------------------------

    def _by_key(self, batch: EventColumns, hot: set[Any]) -> Iterator[tuple[Any, list[int]]]:
        """Positions of the events of the keys ``hot``, in the order of processing."""
        keys, values, times = batch
        events_of: dict[Any, list[int]] = {}
        for index in compress(range(len(keys)), map(hot.__contains__, keys)):
            key = keys[index]
            known = events_of.get(key)
            if known is None:
                events_of[key] = [index]
            else:
                known.append(index)
        rank = self._by_rank
        for key, indices in events_of.items():
            if rank is None:
                indices.sort(key=times.__getitem__)
            else:
                indices.sort(key=lambda index: (times[index], rank(values[index])))
            yield key, indices

    def _bound(self, key: Any, matches: Matches, rule: str = "") -> None:
        """Enforce the limit of the partial matches of a key, if there is one."""
        assert self._limit is not None
        self._dropped.inc(self._limit.enforce(matches, self.context.name, key, rule))

    def _take(
        self,
        key: Any,
        new_matches: list[FoundMatch],
        timed_out: list[FoundMatch],
        results: Results,
    ) -> None:
        """Call the user's function with the matches, and add its results."""
        self._context.key = key if self._keyed else None
        if new_matches:
            self._call(self._process_match, new_matches, results)
        if timed_out and self._process_timed_out is not None:
            self._call(self._process_timed_out, timed_out, results)

    def _call(
        self, function: Callable[..., Any], matches: list[FoundMatch], results: Results
    ) -> None:
        for match, events in zip(matches, events_of(matches), strict=True):
            self._context.time = time = match.time
            value = self._match(events)
            if self._buffer.mutable:
                value = detached(value)
            produced = function(value, self._context)
            if produced is not None:
                results.extend((time, result) for result in records_of(produced, function))

    def _match(self, events: dict[str, list[Any]]) -> dict[str, list[Any]]:
        """Argument of the user's function for a match."""
        return events

    def _emit(self, results: Results) -> None:
        if results:
            results.sort(key=_time)
            times = [time for time, _ in results] if self._event_time else None
            self.emit_results([result for _, result in results], times)


def _time(result: tuple[int, Any]) -> int:
    return result[0]


def rich_conditions(automaton: Automaton) -> list[Function]:
    """Conditions of a pattern that need to be opened and closed, without duplicates."""
    sources = {id(leaf.source): leaf.source for leaf in automaton.pattern.conditions()}
    return [source for source in sources.values() if isinstance(source, Function)]


def open_conditions(automaton: Automaton, runtime_context: RuntimeContext) -> None:
    """Open the conditions of a pattern."""
    for condition in rich_conditions(automaton):
        condition.open(runtime_context)


def close_conditions(automaton: Automaton) -> None:
    """Close the conditions of a pattern, ignoring errors."""
    for condition in rich_conditions(automaton):
        with suppress(Exception):
            condition.close()


def _timed_out_handler(function: Any) -> Callable[..., Any] | None:
    if isinstance(function, TimedOutPartialMatchHandler):
        return function.process_timed_out_match
    return None
