"""Finds the matches of a pattern in the events of each key, in the order of their times.

Semantics: Flink docs, "FlinkCEP"; class ``CepOperator``. Events wait until the watermark has passed
them. Whether a match can begin with an event is asked for whole batches; only keys where one can,
or has begun, are looked at.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cmp_to_key
from typing import Any

from millrace.common.errors import JobExecutionError
from millrace.common.functions import Function
from millrace.common.output_tag import OutputTag
from millrace.common.pattern_functions import PatternProcessFunction, TimedOutPartialMatchHandler
from millrace.common.pattern_model import EventPattern
from millrace.runtime.buffer import MAX_WATERMARK
from millrace.runtime.cep.automaton import Automaton
from millrace.runtime.cep.deadlines import Deadlines
from millrace.runtime.cep.matcher import Matcher
from millrace.runtime.cep.partial_match import FoundMatch, KeyMatches
from millrace.runtime.cep.shared_buffer import SharedBuffer
from millrace.runtime.cep.waiting_events import Batch, WaitingEvents
from millrace.runtime.detached import detached
from millrace.runtime.function_operator import FunctionOperator
from millrace.runtime.late_records import LateRecords
from millrace.runtime.runtime_context import StreamRuntimeContext

ONLY = ""
"""The name of the one rule there is."""


class _Context(PatternProcessFunction.Context):
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


class CepOperator(FunctionOperator):
    """Runs a `PatternProcessFunction` on the matches of a pattern.

    Args:
        key_batch: extracts the keys of a batch.
        comparator: orders events of the same time: negative, zero or positive.
        late_tag: where events go that come after the watermark has passed them.
        event_time: whether events are ordered by their times; otherwise they are taken as they
            arrive, at the time of the clock.
        keyed: whether the keys mean something to the user.
    """

    def __init__(
        self,
        pattern: EventPattern,
        function: PatternProcessFunction[Any, Any],
        key_batch: Callable[[list[Any]], list[Any]],
        comparator: Callable[[Any, Any], int] | None = None,
        late_tag: OutputTag[Any] | None = None,
        event_time: bool = True,
        keyed: bool = True,
    ) -> None:
        super().__init__(function)
        self._pattern = pattern
        self._keys_of = key_batch
        self._by_rank = None if comparator is None else cmp_to_key(comparator)
        self._late_tag = late_tag
        self._event_time = event_time
        self._keyed = keyed

    def open(self) -> None:
        super().open()
        self._context = _Context(self.context.clock)
        self._automaton = Automaton(self._pattern)
        self._matcher = Matcher(self._automaton, self.context.clock)
        self._buffer = SharedBuffer(self.context, lambda rule, version: self._automaton)
        self._waiting = WaitingEvents(self.context)
        self._deadlines = Deadlines()
        self._late = LateRecords(self)
        self._process_match = self.function.process_match
        self._process_timed_out = _timed_out_handler(self.function)
        for condition in self._rich_conditions():
            condition.open(StreamRuntimeContext(self.context, None))

    def _rich_conditions(self) -> list[Function]:
        conditions = [position.condition for position in self._automaton.positions]
        sources = [leaf.source for c in conditions if c is not None for leaf in c.leaves()]
        return [source for source in sources if isinstance(source, Function)]

    def restore(self) -> None:
        self._buffer.forget()
        self._waiting.forget()
        times: dict[Any, int] = {}
        for key, live in self._buffer.stored():
            deadline = self._matcher.next_deadline(live.of(ONLY))
            if deadline is not None:
                times[key] = deadline
        self._deadlines.fill(times)

    def close(self) -> None:
        for condition in self._rich_conditions():
            condition.close()
        super().close()

    # -- events and time ---------------------------------------------------------------------------

    def begin_epoch(self, epoch: int, now: int) -> None:
        super().begin_epoch(epoch, now)
        self._waiting.begin_epoch(epoch)
        if not self._event_time:
            self._emit(self._advanced(now))

    def process(self, values: list[Any], timestamps: list[int] | None) -> None:
        keys = self._keys_of(values)
        if not self._event_time:
            now = self.context.clock()
            self._emit(self._matched(Batch(keys, values, [now] * len(values))))
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

    def process_watermark(self, timestamp: int) -> None:
        if self._event_time:
            results = self._matched(self._waiting.take(timestamp))
            self._emit(results + self._advanced(timestamp))
        super().process_watermark(timestamp)

    def next_wakeup(self) -> int | None:
        if self._event_time or self.watermark == MAX_WATERMARK:
            return None
        return self._deadlines.earliest()

    def end_epoch(self, ended: bool) -> None:
        self._waiting.flush()
        self._buffer.flush()
        super().end_epoch(ended)

    # -- matching ----------------------------------------------------------------------------------

    def _matched(self, batch: Batch) -> list[tuple[int, Any]]:
        """What comes of events: times and results. Sorted are only those of keys looked at."""
        results: list[tuple[int, Any]] = []
        keys, values, times = batch
        if not values:
            return results
        starts = self._matcher.starts(values)
        different = set(keys)
        self._buffer.prefetch(different)
        if starts is None:
            hot, starts = different, [True] * len(values)
        else:
            hot = self._buffer.active(different)
            hot.update(key for key, start in zip(keys, starts, strict=True) if start)
        events_of: dict[Any, list[int]] = {}
        for index, key in enumerate(keys):
            if key in hot:
                known = events_of.get(key)
                if known is None:
                    events_of[key] = [index]
                else:
                    known.append(index)
        for key, indices in events_of.items():
            if self._by_rank is not None:
                indices = self._ranked(indices, values, times)
            else:
                indices.sort(key=times.__getitem__)
            self._match_key(key, [(times[i], values[i], starts[i]) for i in indices], results)
        return results

    def _ranked(self, indices: list[int], values: list[Any], times: list[int]) -> list[int]:
        """Events of a key, those of the same time in the order of the comparator."""
        assert self._by_rank is not None
        rank = self._by_rank
        return sorted(indices, key=lambda index: (times[index], rank(values[index])))

    def _match_key(
        self, key: Any, events: list[tuple[int, Any, Any]], results: list[tuple[int, Any]]
    ) -> None:
        live = self._buffer.of(key)
        self._buffer.hold(value for _, value, _ in events)
        matches, matcher = live.of(ONLY), self._matcher
        process, advance = matcher.process, matcher.advance_time
        timed = self._automaton.within is not None or self._automaton.has_gaps
        for time, value, start in events:
            if timed and matches.partial:
                self._take(key, *advance(matches, time), results)
            if start or matches.partial:
                found = process(matches, live.next_event(time, value), start)
                if found:
                    self._take(key, found, [], results)
        self._leave(key, live)

    def _leave(self, key: Any, live: KeyMatches) -> None:
        """Done with a key for now."""
        deadline = self._matcher.next_deadline(live.of(ONLY))
        if deadline is not None:
            self._deadlines.set(key, deadline)
        self._buffer.drop_if_empty(key, live)

    def _advanced(self, time: int) -> list[tuple[int, Any]]:
        """What comes of the passing of time: times and results."""
        results: list[tuple[int, Any]] = []
        due = self._deadlines.take_due(time)
        self._buffer.prefetch(due)
        for key in due:
            live = self._buffer.of(key)
            self._take(key, *self._matcher.advance_time(live.of(ONLY), time), results)
            self._leave(key, live)
        return results

    # -- what comes out ----------------------------------------------------------------------------

    def _take(
        self,
        key: Any,
        found: list[FoundMatch],
        timed_out: list[FoundMatch],
        results: list[tuple[int, Any]],
    ) -> None:
        """Let the user's function make records."""
        self._context.key = key if self._keyed else None
        for match in found:
            self._call(self._process_match, match, results)
        if self._process_timed_out is not None:
            for match in timed_out:
                self._call(self._process_timed_out, match, results)

    def _call(
        self, function: Callable[..., Any], match: FoundMatch, results: list[tuple[int, Any]]
    ) -> None:
        self._context.time = time = match.time
        value = match.events()
        if self._buffer.mutable:
            value = detached(value)
        produced = function(value, self._context)
        if produced is not None:
            results.extend((time, result) for result in produced)

    def _emit(self, results: list[tuple[int, Any]]) -> None:
        if results:
            results.sort(key=_time)
            times = [time for time, _ in results] if self._event_time else None
            self.emit_results([result for _, result in results], times)


def _time(result: tuple[int, Any]) -> int:
    return result[0]


def _timed_out_handler(function: Any) -> Callable[..., Any] | None:
    if isinstance(function, TimedOutPartialMatchHandler):
        return function.process_timed_out_match
    return None
