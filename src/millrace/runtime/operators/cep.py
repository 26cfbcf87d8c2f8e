"""Finds the matches of a pattern in the events of each key, in the order of event times.

Semantics: Flink docs, "FlinkCEP"; class ``CepOperator``. Events wait until the watermark has passed
them. Whether a match can begin with an event is found out for whole batches; only keys where one
can, or has begun, are looked at.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import compress
from typing import Any

from millrace.common.functions.output_tag import OutputTag
from millrace.common.functions.pattern_functions import PatternProcessFunction
from millrace.runtime.cep.automaton import Automaton
from millrace.runtime.cep.matcher import Matcher
from millrace.runtime.cep.partial_match import KeyMatches
from millrace.runtime.cep.partial_match_limit import PartialMatchLimit
from millrace.runtime.cep.pattern_model import EventPattern
from millrace.runtime.cep.shared_buffer import SharedBuffer
from millrace.runtime.cep.waiting_events import EventColumns
from millrace.runtime.operators.pattern_operator import (
    PatternOperator,
    Results,
    close_conditions,
    open_conditions,
)

ONLY = ""
"""Name of the only rule."""


class CepOperator(PatternOperator):
    """Runs a `PatternProcessFunction` on the matches of a pattern; see `PatternOperator`."""

    def __init__(
        self,
        pattern: EventPattern,
        function: PatternProcessFunction[Any, Any],
        key_batch: Callable[[list[Any]], list[Any]],
        comparator: Callable[[Any, Any], int] | None = None,
        late_tag: OutputTag[Any] | None = None,
        event_time: bool = True,
        keyed: bool = True,
        limit: PartialMatchLimit | None = None,
    ) -> None:
        super().__init__(function, key_batch, comparator, late_tag, event_time, keyed, limit)
        self._pattern = pattern

    def open(self) -> None:
        self._automaton = Automaton(self._pattern)
        self._matcher = Matcher(self._automaton, self.context.clock)
        super().open()
        open_conditions(self._automaton, self.runtime_context())

    def make_buffer(self) -> SharedBuffer:
        return SharedBuffer(self.context, lambda rule, version: self._automaton)

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
        close_conditions(self._automaton)
        super().close()

    # -- matching ----------------------------------------------------------------------------------

    def _matched(self, batch: EventColumns) -> Results:
        """Times and results of new events. Only events of keys that need processing are sorted."""
        results: Results = []
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
            hot.update(compress(keys, starts))
        for key, indices in self._by_key(batch, hot):
            self._match_key(key, [(times[i], values[i], starts[i]) for i in indices], results)
        return results

    def _match_key(self, key: Any, events: list[tuple[int, Any, Any]], results: Results) -> None:
        live = self._buffer.of(key)
        self._buffer.hold(value for _, value, _ in events)
        matches, matcher = live.of(ONLY), self._matcher
        process, advance = matcher.process, matcher.advance_time
        timed = self._automaton.within is not None or self._automaton.has_gaps
        for time, value, start in events:
            if time < live.time:
                if not self._event_time:
                    time = live.time  # the clock was set back
                elif self._is_past(live, value, time):
                    continue
            if timed and matches.partial:
                self._take(key, *advance(matches, time), results)
            if start or matches.partial:
                new_matches = process(matches, live.next_event(time, value), start)
                if self._limit is not None:
                    self._bound(key, matches)
                if new_matches:
                    self._take(key, new_matches, [], results)
        self._leave(key, live)

    def _leave(self, key: Any, live: KeyMatches) -> None:
        """Set the next deadline of a key, and drop the key if it has no matches."""
        deadline = self._matcher.next_deadline(live.of(ONLY))
        if deadline is not None:
            self._deadlines.set(key, deadline)
        self._buffer.drop_if_empty(key, live)

    def _advanced(self, time: int) -> Results:
        """Times and results caused by the passing of time."""
        results: Results = []
        due = self._deadlines.take_due(time)
        self._buffer.prefetch(due)
        for key in due:
            live = self._buffer.of(key)
            self._take(key, *self._matcher.advance_time(live.of(ONLY), time), results)
            self._leave(key, live)
        return results
