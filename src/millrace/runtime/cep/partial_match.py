"""Partial matches, and the events that they share.

The events of a partial match are a chain of entries, from the last one back to the first. Partial
matches with the same beginning share their entries. A match that began later also shares the
entries of an earlier one, if both took the same events from then on; the chain then goes further
back than the later match. So a match consists of its chain back to its first event. Each event is
stored once, however many matches took it. An entry has exactly one predecessor, so chains need no
version numbers (unlike the buffer of J. Agrawal et al., "Efficient Pattern Matching over Event
Streams", SIGMOD 2008), and Python's reference counts free the entries that no partial match needs
any more.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from millrace.runtime.buffer import MIN_WATERMARK
from millrace.runtime.cep.automaton import MatchState

__all__ = [
    "BufferedEvent",
    "FoundMatch",
    "KeyMatches",
    "MatchedEntry",
    "Matches",
    "PartialMatch",
    "entries_between",
    "events_of",
]

WORTH_A_CHAIN = 32
"""Minimum number of entries to lay out as columns. Fewer are as fast to traverse again."""
Order = tuple[int, int]
"""Order of an event: its time (ms since the epoch), and its number among the events of its key."""


class BufferedEvent:
    """An event that a partial match may have taken."""

    __slots__ = ("order", "value")

    def __init__(self, order: Order, value: Any) -> None:
        self.order = order
        self.value = value

    @property
    def time(self) -> int:
        """Event time in ms since the epoch."""
        return self.order[0]


class MatchedEntry:
    """An event taken for a pattern."""

    __slots__ = ("before", "event", "name", "number")

    def __init__(
        self, before: MatchedEntry | None, name: str, event: BufferedEvent, number: int = 0
    ) -> None:
        self.before = before
        """Entry before this one, shared by all matches that have this entry. None for the first
        one."""
        self.name = name
        self.event = event
        self.number = number
        """Number of the entry in keyed state. 0 if it is not stored there."""


class PartialMatch:
    """A partial match: its last and its first event, and the state in which it waits."""

    __slots__ = ("last", "start", "state")

    def __init__(self, state: MatchState, last: MatchedEntry, start: BufferedEvent) -> None:
        self.state = state
        self.last = last
        self.start = start


class FoundMatch:
    """A match, or a partial match that timed out."""

    __slots__ = ("last", "start", "time")

    def __init__(self, last: MatchedEntry, start: BufferedEvent, time: int) -> None:
        self.last = last
        self.start = start
        self.time = time
        """Time at which the match became certain, in ms since the epoch. A match that is held back
        only becomes certain when it is released."""

    def entries(self) -> list[MatchedEntry]:
        """The events taken so far, in order."""
        return entries_between(self.start, self.last)

    def events(self) -> dict[str, list[Any]]:
        """Events taken so far, by pattern."""
        events: dict[str, list[Any]] = {}
        for entry in entries_between(self.start, self.last):
            known_part = events.get(entry.name)
            if known_part is None:
                events[entry.name] = [entry.event.value]
            else:
                known_part.append(entry.event.value)
        return events


def entries_between(start: BufferedEvent, last: MatchedEntry) -> list[MatchedEntry]:
    """Entries of a match in order, from its first event to its last."""
    entries = []
    entry: MatchedEntry | None = last
    while entry is not None:
        entries.append(entry)
        if entry.event is start:
            break
        entry = entry.before
    entries.reverse()
    return entries


def events_of(matches: list[FoundMatch]) -> Iterator[dict[str, list[Any]]]:
    """Events of each match, by pattern. If matches begin with the same events, the lists of
    these events are made once and copied as slices."""
    if len(matches) == 1:
        yield matches[0].events()
        return
    known: dict[MatchedEntry, _Chain] = {}
    for match in matches:
        start = match.start
        after: list[MatchedEntry] = []
        entry, chain = match.last, known.get(match.last)
        while (chain is None or chain.start > start.order) and entry.event is not start:
            after.append(entry)
            assert entry.before is not None
            entry = entry.before
            chain = known.get(entry)
        if chain is not None and chain.start <= start.order:
            events = chain.events(start, entry)
        else:
            after.append(entry)
            events = {}
            if len(after) >= WORTH_A_CHAIN:
                chain = _Chain(after[::-1])
                known.update(dict.fromkeys(after, chain))
        for entry in reversed(after):
            values = events.get(entry.name)
            if values is None:
                events[entry.name] = [entry.event.value]
            else:
                values.append(entry.event.value)
        yield events


class _Chain:
    """Columns of the events that lead to one entry."""

    __slots__ = ("_orders", "_runs", "_values", "start")

    def __init__(self, entries: list[MatchedEntry]) -> None:
        self._orders = [entry.event.order for entry in entries]
        self._values = [entry.event.value for entry in entries]
        self._runs: list[tuple[str, int, int]] = []
        """Names, and the ranges of their events."""
        end = 0
        for name, run in groupby(entries, _name):
            begin, end = end, end + sum(1 for _ in run)
            self._runs.append((name, begin, end))
        self.start = self._orders[0]

    def events(self, start: BufferedEvent, last: MatchedEntry) -> dict[str, list[Any]]:
        """Events from the first to the last one, by pattern."""
        first = bisect_left(self._orders, start.order)
        stop = bisect_right(self._orders, last.event.order)
        events: dict[str, list[Any]] = {}
        for name, begin, end in self._runs:
            if begin >= stop:
                break
            if end > first:
                part = self._values[max(begin, first) : min(end, stop)]
                known_part = events.setdefault(name, part)
                if known_part is not part:
                    known_part += part
        return events


def _name(entry: MatchedEntry) -> str:
    return entry.name


@dataclass(slots=True)
class Matches:
    """Partial matches of one pattern and one key, and the matches that are held back."""

    partial: list[PartialMatch] = field(default_factory=list)
    """Partial matches in the order of their events, and thus of their first events."""
    held_back: list[FoundMatch] = field(default_factory=list)
    """Matches that an earlier partial match may still exclude, in the order of their first
    events."""
    deadline: int | None = None
    """Next time at which something ends, for callers that keep track of it."""

    def __bool__(self) -> bool:
        return bool(self.partial or self.held_back)


@dataclass(slots=True)
class Chains:
    """Entries and events, in keyed state, of one pattern and one key."""

    entries: set[int] = field(default_factory=set)
    events: set[Order] = field(default_factory=set)


Begun = tuple[int, tuple[tuple[str, str | int], ...]]
"""Partial matches of a rule that began with one event: the rule's version, and for each match its
state and its last entry. The entry is given by its number, or by its name if it is also the
first."""


@dataclass(slots=True)
class KeyMatches:
    """Partial matches of all patterns for one key."""

    matches: dict[str, Matches] = field(default_factory=dict)
    """Matches by the name of the rule."""
    events: int = 0
    """Number of numbered events."""
    entries: int = 0
    """Number of numbered entries."""
    time: int = MIN_WATERMARK
    """Time of the last event, in ms since the epoch."""
    changed: set[str] = field(default_factory=set)
    """Rules whose matches may differ from the ones in keyed state."""
    begun: dict[Order, dict[str, Begun]] = field(default_factory=dict)
    """Partial matches in keyed state, by first event and rule."""
    starts: dict[str, set[Order]] = field(default_factory=dict)
    """First events in keyed state, by rule."""
    held_back: set[str] = field(default_factory=set)
    """Rules with matches that are held back in keyed state."""
    chains: dict[str, Chains] = field(default_factory=dict)
    """Entries and events in keyed state, by rule."""
    uses: dict[Order, int] = field(default_factory=dict)
    """Number of rules with the event in their chains in keyed state."""
    partial: int = 0
    """Number of partial matches in keyed state."""

    def __bool__(self) -> bool:
        return any(self.matches.values())

    def of(self, rule: str) -> Matches:
        """Matches of one pattern. The caller may change them."""
        self.changed.add(rule)
        matches = self.matches.get(rule)
        if matches is None:
            matches = self.matches[rule] = Matches()
        return matches

    def drop(self, rule: str) -> None:
        """Remove all matches of one pattern."""
        self.changed.add(rule)
        self.matches.pop(rule, None)

    def next_event(self, time: int, value: Any) -> BufferedEvent:
        """Create a new event, which is later than all events before."""
        self.events += 1
        self.time = time
        return BufferedEvent((time, self.events), value)
