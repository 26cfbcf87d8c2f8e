"""Partial matches, and the events that they share.

What was taken is a chain of entries from the last one back to the first. Partial matches that have
the same beginning share it, and so do those that began later but took the same from then on: a
chain goes further back than the match if one that began earlier has the same end. So what belongs
to a match is its chain back to the event it began with. Each event is there once, however many of
them took it. An entry has exactly one before it, so chains need no version numbers (as they do in
the buffer of J. Agrawal et al., "Efficient Pattern Matching over Event Streams", SIGMOD 2008), and
what no partial match leads to any more is freed by Python's own reference counts.
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
"""So many entries are laid out; fewer are as fast to go through again."""
Order = tuple[int, int]
"""The place of an event: its time (ms since the epoch), and its number among those of its key."""


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
        """What was taken before it, by any match that has it; None: it is the first of them all."""
        self.name = name
        self.event = event
        self.number = number
        """What it is called in keyed state; 0: that does not have it."""


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
        """When it was certain, ms since the epoch: a match that is held back only becomes so when
        it is released."""

    def entries(self) -> list[MatchedEntry]:
        """The events taken so far, in order."""
        return entries_between(self.start, self.last)

    def events(self) -> dict[str, list[Any]]:
        """Events taken so far, by pattern."""
        events: dict[str, list[Any]] = {}
        for entry in entries_between(self.start, self.last):
            found = events.get(entry.name)
            if found is None:
                events[entry.name] = [entry.event.value]
            else:
                found.append(entry.event.value)
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
    """Events of each match, by pattern. Common beginnings of matches are laid out once and
    copied as slices."""
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
            found = events.get(entry.name)
            if found is None:
                events[entry.name] = [entry.event.value]
            else:
                found.append(entry.event.value)
        yield events


class _Chain:
    """The events that lead to one entry, as columns."""

    __slots__ = ("_orders", "_runs", "_values", "start")

    def __init__(self, entries: list[MatchedEntry]) -> None:
        self._orders = [entry.event.order for entry in entries]
        self._values = [entry.event.value for entry in entries]
        self._runs: list[tuple[str, int, int]] = []
        """Names, and where their events are."""
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
                found = events.setdefault(name, part)
                if found is not part:
                    found += part
        return events


def _name(entry: MatchedEntry) -> str:
    return entry.name


@dataclass(slots=True)
class Matches:
    """Partial matches of one pattern and one key, and the matches that are held back."""

    partial: list[PartialMatch] = field(default_factory=list)
    """In the order of what they took; so also in that of their first events."""
    held_back: list[FoundMatch] = field(default_factory=list)
    """Found, but a partial match that began earlier may still win; in the order of their first
    events."""
    deadline: int | None = None
    """When time next ends something, for those who take note of it."""

    def __bool__(self) -> bool:
        return bool(self.partial or self.held_back)


@dataclass(slots=True)
class Chains:
    """Entries and events of one pattern and one key that are in keyed state."""

    entries: set[int] = field(default_factory=set)
    events: set[Order] = field(default_factory=set)


Begun = tuple[int, tuple[tuple[str, str | int], ...]]
"""The partial matches of a rule that began with one event: the rule's version, and of each its
state and the last entry: its number, or its name if it is the first too."""


@dataclass(slots=True)
class KeyMatches:
    """Partial matches of all patterns for one key."""

    matches: dict[str, Matches] = field(default_factory=dict)
    """By the name of the rule."""
    events: int = 0
    """How many events were numbered."""
    entries: int = 0
    """How many entries were numbered."""
    time: int = MIN_WATERMARK
    """That of the last event, ms since the epoch."""
    changed: set[str] = field(default_factory=set)
    """The rules whose matches may be others than those in keyed state."""
    begun: dict[Order, dict[str, Begun]] = field(default_factory=dict)
    """By first event and rule, the partial matches in keyed state."""
    starts: dict[str, set[Order]] = field(default_factory=dict)
    """By rule, the first events in keyed state."""
    held_back: set[str] = field(default_factory=set)
    """The rules that have matches held back in keyed state."""
    chains: dict[str, Chains] = field(default_factory=dict)
    """By rule, what else is in keyed state."""
    uses: dict[Order, int] = field(default_factory=dict)
    """How many rules have an event in their chains in keyed state."""
    partial: int = 0
    """How many partial matches are in keyed state."""

    def __bool__(self) -> bool:
        return any(self.matches.values())

    def of(self, rule: str) -> Matches:
        """Matches of one pattern. The caller may change them."""
        self.changed.add(rule)
        found = self.matches.get(rule)
        if found is None:
            found = self.matches[rule] = Matches()
        return found

    def drop(self, rule: str) -> None:
        """Remove all matches of one pattern."""
        self.changed.add(rule)
        self.matches.pop(rule, None)

    def next_event(self, time: int, value: Any) -> BufferedEvent:
        """A new event, which comes after all events before."""
        self.events += 1
        self.time = time
        return BufferedEvent((time, self.events), value)
