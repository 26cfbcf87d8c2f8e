"""Moves events through a pattern without an operator around it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cmp_to_key
from typing import Any, Protocol

from millrace.common.errors import JobDefinitionError
from millrace.common.functions import Function
from millrace.common.pattern_functions import Match
from millrace.common.pattern_model import EventPattern
from millrace.runtime.cep.automaton import Automaton
from millrace.runtime.cep.matcher import Matcher
from millrace.runtime.cep.partial_match import (
    BufferedEvent,
    FoundMatch,
    Matches,
)
from millrace.runtime.operator import OperatorContext
from millrace.runtime.runtime_context import StreamRuntimeContext
from millrace.state.store import SubtaskState

__all__ = [
    "HasModel",
    "MatchResult",
    "PatternMatch",
    "PatternObserver",
    "PatternRun",
    "TimedEvent",
    "timed_events",
]

Found = list[FoundMatch]
Timestamps = Sequence[int] | Callable[[Any], int] | None


class HasModel(Protocol):
    """A `millrace.cep.Pattern`."""

    def model(self) -> EventPattern:
        """The pattern as plain data."""


@dataclass(frozen=True, slots=True)
class PatternMatch:
    """A match, or what there was of one when its time was over."""

    events: Match[Any]
    timestamp: int
    """When it was found, or its time over; ms since the epoch."""
    key: Any = None


@dataclass(frozen=True, slots=True)
class MatchResult:
    """What a pattern found, in the order in which it is emitted."""

    found: list[PatternMatch] = field(default_factory=list)
    over: list[PatternMatch] = field(default_factory=list)
    """What there was of matches whose time was over."""

    @property
    def matches(self) -> list[Match[Any]]:
        """The events of the matches, by pattern name."""
        return [match.events for match in self.found]

    @property
    def timed_out(self) -> list[Match[Any]]:
        """The events of partial matches whose time was over, by pattern name."""
        return [match.events for match in self.over]


@dataclass(frozen=True, slots=True)
class TimedEvent:
    """An event and when it happened."""

    value: Any
    timestamp: int
    number: int
    """In the order in which events are taken, from 0."""
    key: Any


class PatternObserver(Protocol):
    """Sees how the partial matches of a key are moved on."""

    def time_passed(
        self, key: Any, before: Matches, after: Matches, found: Found, timed_out: Found
    ) -> None:
        """What time did."""

    def event_taken(self, event: TimedEvent, before: Matches, after: Matches, found: Found) -> None:
        """What an event did."""


class PatternRun:
    """One pattern, and what it finds in the events of some keys.

    Args:
        pattern: a `millrace.cep.Pattern`.
        clock: processing time, ms since the epoch.

    Raises:
        MalformedPatternError: the pattern contradicts itself.
    """

    def __init__(self, pattern: HasModel | EventPattern, clock: Callable[[], int]) -> None:
        model = pattern if isinstance(pattern, EventPattern) else pattern.model()
        self.automaton = Automaton(model)
        self.clock = clock
        self.matcher = Matcher(self.automaton, clock)

    def over(
        self,
        events: Sequence[TimedEvent],
        watermark: int,
        observer: PatternObserver | None = None,
    ) -> MatchResult:
        """What it finds in events, which are in order, until time is at ``watermark``."""
        by_key: dict[Any, list[TimedEvent]] = {}
        for event in events:
            if event.timestamp <= watermark:
                by_key.setdefault(event.key, []).append(event)
        result = MatchResult()
        with self._opened_conditions():
            for key, of_key in by_key.items():
                _KeyRun(self.matcher, key, result, observer).take(of_key, watermark)
        result.found.sort(key=_timestamp)
        result.over.sort(key=_timestamp)
        return result

    @contextmanager
    def _opened_conditions(self) -> Iterator[None]:
        leaves = self.automaton.pattern.conditions()
        functions = {id(leaf.source): leaf.source for leaf in leaves}
        context = OperatorContext("pattern", "pattern", 0, 1, 128, SubtaskState(), self.clock)
        with ExitStack() as stack:
            for function in functions.values():
                if isinstance(function, Function):
                    function.open(StreamRuntimeContext(context, None))
                    stack.callback(function.close)
            yield


class _KeyRun:
    def __init__(
        self, matcher: Matcher, key: Any, result: MatchResult, observer: PatternObserver | None
    ) -> None:
        self._matcher = matcher
        self._key = key
        self._result = result
        self._observer = observer
        self._matches = Matches()

    def take(self, events: Iterable[TimedEvent], watermark: int) -> None:
        for event in events:
            self._advance(event.timestamp)
            buffered = BufferedEvent((event.timestamp, event.number), event.value)
            before = self._as_it_is()
            found = self._matcher.process(self._matches, buffered)
            if self._observer is not None:
                self._observer.event_taken(event, before, self._matches, found)
            self._result.found.extend(map(self._match, found))
        self._advance(watermark)

    def _advance(self, time: int) -> None:
        before = self._as_it_is()
        found, timed_out = self._matcher.advance_time(self._matches, time)
        if self._observer is not None:
            self._observer.time_passed(self._key, before, self._matches, found, timed_out)
        self._result.found.extend(map(self._match, found))
        self._result.over.extend(map(self._match, timed_out))

    def _as_it_is(self) -> Matches:
        return Matches(list(self._matches.partial), list(self._matches.held_back))

    def _match(self, found: FoundMatch) -> PatternMatch:
        return PatternMatch(found.events(), found.time, self._key)


def timed_events(
    values: Iterable[Any],
    timestamps: Timestamps,
    key: Callable[[Any], Any] | None,
    comparator: Any,
    event_time: bool,
) -> list[TimedEvent]:
    """Events in the order in which they are taken."""
    given = list(values)
    times = _times(given, timestamps)
    if not event_time and times != sorted(times):
        raise JobDefinitionError("in processing time no event comes before the one before it")
    order = list(range(len(given)))
    if event_time:
        compare = getattr(comparator, "compare", comparator)
        rank = cmp_to_key(compare) if compare is not None else _alike
        order.sort(key=lambda index: (times[index], rank(given[index])))
    return [
        TimedEvent(given[index], times[index], number, None if key is None else key(given[index]))
        for number, index in enumerate(order)
    ]


def _alike(value: Any) -> int:
    return 0


def _times(values: list[Any], timestamps: Timestamps) -> list[int]:
    if timestamps is None:
        return list(range(len(values)))
    if callable(timestamps):
        return [timestamps(value) for value in values]
    if len(timestamps) != len(values):
        raise JobDefinitionError(
            f"there are {len(values)} events and {len(timestamps)} timestamps; give each event one"
        )
    return list(timestamps)


def _timestamp(timed: Any) -> int:
    time: int = timed.timestamp
    return time
