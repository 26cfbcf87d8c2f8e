"""Execution of a pattern over events, without an operator around it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cmp_to_key
from operator import index
from typing import Any, Protocol

from millrace.cep.comparator import EventComparator, checked_comparator
from millrace.common.errors import JobDefinitionError
from millrace.common.functions.base import KeySelector
from millrace.common.functions.key_selector import resolve_key_selector
from millrace.common.functions.pattern_functions import Match
from millrace.runtime.buffer import MAX_WATERMARK
from millrace.runtime.cep.automaton import Automaton
from millrace.runtime.cep.matcher import Matcher
from millrace.runtime.cep.partial_match import (
    BufferedEvent,
    FoundMatch,
    Matches,
    events_of,
)
from millrace.runtime.cep.pattern_model import EventPattern
from millrace.runtime.cep.pattern_rule import HasModel
from millrace.runtime.cep.pattern_runtime_context import PatternRuntimeContext
from millrace.runtime.operator import OperatorContext
from millrace.runtime.operators.pattern_operator import rich_conditions
from millrace.state.store import SubtaskState
from millrace.testing.paused_collector import paused_collector

__all__ = [
    "Comparator",
    "Key",
    "MatchResult",
    "PatternMatch",
    "PatternObserver",
    "PatternRun",
    "TimedEvent",
    "last_time",
    "timed_events",
]

Found = list[FoundMatch]
Timestamps = Iterable[int] | Callable[[Any], int] | None
Key = Callable[[Any], Any] | KeySelector[Any, Any] | str | int | Sequence[str | int] | None
Comparator = EventComparator | Callable[[Any, Any], int] | None


@dataclass(frozen=True, slots=True)
class PatternMatch:
    """A match, or a timed-out partial match."""

    events: Match[Any]
    timestamp: int
    """Time at which the match was complete or timed out, in ms since the Unix epoch."""
    key: Any = None


@dataclass(frozen=True, slots=True)
class MatchResult:
    """Matches of a pattern, in the order in which they are emitted."""

    found: list[PatternMatch] = field(default_factory=list)
    over: list[PatternMatch] = field(default_factory=list)
    """Timed-out partial matches."""

    @property
    def matches(self) -> list[Match[Any]]:
        """The events of each match, by pattern name."""
        return [match.events for match in self.found]

    @property
    def timed_out(self) -> list[Match[Any]]:
        """The events of each timed-out partial match, by pattern name."""
        return [match.events for match in self.over]


@dataclass(frozen=True, slots=True)
class TimedEvent:
    """An event and its time."""

    value: Any
    timestamp: int
    number: int
    """Number of the event, from 0, in the order in which the pattern takes events."""
    key: Any


class PatternObserver(Protocol):
    """Observer of the steps of a key's partial matches."""

    def time_passed(
        self, key: Any, before: Matches, after: Matches, new_matches: Found, timed_out: Found
    ) -> None:
        """Observe the effect of the passing of time."""

    def event_taken(
        self, event: TimedEvent, before: Matches, after: Matches, new_matches: Found
    ) -> None:
        """Observe the effect of an event."""


class PatternRun:
    """One pattern, and its matches in the events of some keys.

    Args:
        pattern: a `millrace.cep.Pattern`.
        clock: processing time, ms since the epoch.

    Raises:
        JobDefinitionError: the object is not a pattern.
        MalformedPatternError: the pattern contradicts itself.
    """

    def __init__(self, pattern: HasModel | EventPattern, clock: Callable[[], int]) -> None:
        self.automaton = Automaton(_model(pattern))
        self.clock = clock
        self.matcher = Matcher(self.automaton, clock)

    def over(
        self,
        events: Sequence[TimedEvent],
        watermark: int,
        observer: PatternObserver | None = None,
    ) -> MatchResult:
        """Run the pattern over events in order, until time reaches ``watermark``."""
        by_key: dict[Any, list[TimedEvent]] = {}
        for event in events:
            if event.timestamp <= watermark:
                by_key.setdefault(event.key, []).append(event)
        result = MatchResult()
        with self._opened_conditions(), paused_collector():
            for key, of_key in by_key.items():
                _KeyRun(self.matcher, key, result, observer).take(of_key, watermark)
        result.found.sort(key=_timestamp)
        result.over.sort(key=_timestamp)
        return result

    @contextmanager
    def _opened_conditions(self) -> Iterator[None]:
        context = OperatorContext("pattern", "pattern", 0, 1, 128, SubtaskState(), self.clock)
        with ExitStack() as stack:
            for condition in rich_conditions(self.automaton):
                condition.open(PatternRuntimeContext(context, None))
                stack.callback(condition.close)
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
            new_matches = self._matcher.process(self._matches, buffered)
            if self._observer is not None:
                self._observer.event_taken(event, before, self._matches, new_matches)
            self._result.found.extend(self._matches_of(new_matches))
        self._advance(watermark)

    def _advance(self, time: int) -> None:
        before = self._as_it_is()
        new_matches, timed_out = self._matcher.advance_time(self._matches, time)
        if self._observer is not None:
            self._observer.time_passed(self._key, before, self._matches, new_matches, timed_out)
        self._result.found.extend(self._matches_of(new_matches))
        self._result.over.extend(self._matches_of(timed_out))

    def _as_it_is(self) -> Matches:
        if self._observer is None:
            return self._matches
        return Matches(list(self._matches.partial), list(self._matches.held_back))

    def _matches_of(self, new_matches: Found) -> Iterator[PatternMatch]:
        for match, events in zip(new_matches, events_of(new_matches), strict=True):
            yield PatternMatch(events, match.time, self._key)


def timed_events(
    values: Iterable[Any],
    timestamps: Timestamps,
    key: Key,
    comparator: Comparator,
    event_time: bool,
) -> list[TimedEvent]:
    """Events in the order in which the pattern takes them.

    Raises:
        JobDefinitionError: events have no such times or keys.
    """
    given = _listed("events", values)
    times = _times(given, timestamps)
    if not event_time and times != sorted(times):
        raise JobDefinitionError("in processing time, events must be in the order of their times")
    compare = checked_comparator(comparator)
    rank: Callable[[Any], Any] = _alike if compare is None else cmp_to_key(compare)
    order = sorted(range(len(given)), key=lambda place: (times[place], rank(given[place])))
    get_key = _alike if key is None else resolve_key_selector(key)
    return [
        TimedEvent(given[place], times[place], number, _checked_key(get_key(given[place])))
        for number, place in enumerate(order)
    ]


def last_time(watermark: int | None, events: list[TimedEvent], event_time: bool) -> int:
    """Time at the end of a run: ``watermark`` if it is given. Otherwise, as in a job, event time
    advances to its end, and processing time stays at the last event."""
    if watermark is not None:
        return _checked_time("watermark", watermark)
    if event_time or not events:
        return MAX_WATERMARK
    return events[-1].timestamp


def _model(pattern: Any) -> EventPattern:
    build = getattr(pattern, "model", None)
    model = build() if callable(build) and not isinstance(pattern, type) else pattern
    if not isinstance(model, EventPattern):
        raise JobDefinitionError(
            f"events are matched with a Pattern such as Pattern.begin('a'), got {pattern!r}"
        )
    return model


def _alike(value: Any) -> None:
    return None


def _checked_key(key: Any) -> Any:
    try:
        hash(key)
    except TypeError:
        raise JobDefinitionError(
            f"the key {key!r} is of a type that cannot be a key ({type(key).__name__}); a tuple of "
            "plain values can"
        ) from None
    return key


def _times(values: list[Any], timestamps: Timestamps) -> list[int]:
    if timestamps is None:
        return list(range(len(values)))
    if callable(timestamps):
        return [_checked_time("timestamp", timestamps(value), value) for value in values]
    times = _listed("timestamps", timestamps)
    if len(times) != len(values):
        raise JobDefinitionError(
            f"there are {len(values)} events and {len(times)} timestamps; give each event one"
        )
    return [_checked_time("timestamp", *pair) for pair in zip(times, values, strict=True)]


def _listed(what: str, values: Any) -> list[Any]:
    try:
        return list(values)
    except TypeError:
        raise JobDefinitionError(
            f"{what} are given as a list or the like, got {values!r}"
        ) from None


def _checked_time(what: str, time: Any, *of_event: Any) -> int:
    try:
        return index(time)
    except TypeError:
        whose = f" of the event {of_event[0]!r}" if of_event else ""
        raise JobDefinitionError(
            f"the {what}{whose} is {time!r}, but times are whole numbers: ms since the epoch"
        ) from None


def _timestamp(timed: Any) -> int:
    time: int = timed.timestamp
    return time
