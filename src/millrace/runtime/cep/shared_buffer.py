"""Partial matches and their events in keyed state.

For each key, one table holds the entries and the partial matches, and another table holds each
event once. Partial matches are stored by their first event: with many rules, one event begins
matches of many rules, and these share a row. The first entry of a chain is not stored separately.
While a key is processed, its matches are objects that share common parts. At the end of an epoch,
new parts are written and unused parts are removed, so the size of a checkpoint depends on the
changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import chain, islice
from typing import Any

import msgspec

from millrace.runtime.cep.buffer_reading import COUNTS, AutomatonOf, BufferReading
from millrace.runtime.cep.partial_match import (
    Begun,
    BufferedEvent,
    Chains,
    FoundMatch,
    KeyMatches,
    MatchedEntry,
    Matches,
    Order,
    PartialMatch,
)
from millrace.runtime.operator import OperatorContext
from millrace.state.frozen import is_immutable
from millrace.state.internal_tables import MATCHED_EVENTS, PARTIAL_MATCHES
from millrace.state.nested_table import NestedTable
from millrace.state.table_id import TableId
from millrace.state.table_kinds import MAP

__all__ = ["SharedBuffer"]

PARTIAL = 3
"""Position of the number of partial matches in the row under COUNTS."""
KEPT = 10_000
"""Number of keys whose matches are kept as objects from epoch to epoch."""


class SharedBuffer:
    """The partial matches of all keys of a subtask.

    Args:
        automaton_of: function that gives the automaton of a rule.
        version_of: function that gives the version of a rule's matches.
        on_read: called with the matches of a key after they were read.
    """

    def __init__(
        self,
        context: OperatorContext,
        automaton_of: AutomatonOf,
        version_of: Callable[[str], int] = lambda rule: 0,
        on_read: Callable[[KeyMatches], None] = lambda matches: None,
    ) -> None:
        state, uid = context.state, context.uid
        self._name = context.name
        self._matches: NestedTable = state.table(TableId(uid, PARTIAL_MATCHES), MAP)
        self._events: NestedTable = state.records_table(uid, MATCHED_EVENTS)
        self._automaton_of = automaton_of
        self._version_of = version_of
        self._on_read = on_read
        self.forget()

    def forget(self) -> None:
        """Drop all cached objects, because the tables have changed."""
        self._live: dict[Any, KeyMatches] = {}
        self._touched: set[Any] = set()
        self.mutable = False
        """Whether any buffered event can be changed in place."""
        self.partial_matches = sum(rows[COUNTS][PARTIAL] for rows in self._matches.data.values())
        """Number of partial matches in keyed state at the end of the last epoch."""

    def prefetch(self, keys: Iterable[Any]) -> None:
        """Prefetch the state of keys that will be processed next."""
        self._matches.prefetch(keys)

    def active(self, keys: set[Any]) -> set[Any]:
        """The keys that have matches."""
        return (self._live.keys() & keys).union(filter(self._matches.data.__contains__, keys))

    def stored(self) -> Iterator[tuple[Any, KeyMatches]]:
        """Matches of all keys, read from keyed state. The caller must not change them.

        Raises:
            CheckpointError: the pattern has no place for a partial match.
        """
        for key in list(self._matches.data):
            yield key, self._load(key)

    def first_events(self) -> Iterator[tuple[Any, int]]:
        """Keys with partial matches in keyed state, and the time of their first event in ms
        since the epoch. Creates no match objects."""
        for key, rows in self._matches.data.items():
            times = [inner[0] for inner in rows if type(inner) is tuple]
            if times:
                yield key, min(times)

    def hold(self, values: Iterable[Any]) -> None:
        """Record whether any of the given events, which may become part of matches, can be changed
        in place.
        """
        self.mutable = self.mutable or not all(map(is_immutable, values))

    def of(self, key: Any) -> KeyMatches:
        """Matches of a key. The caller may change them."""
        self._touched.add(key)
        live = self._live.get(key)
        if live is None:
            live = self._live[key] = self._load(key)
        return live

    def drop_if_empty(self, key: Any, matches: KeyMatches) -> None:
        """Drop the cached objects of a key without matches, if the key has no state either."""
        if not (matches.starts or matches.chains or matches):
            self._touched.discard(key)
            del self._live[key]

    def drop_rules(self, rules: set[str]) -> None:
        """Drop the matches of removed patterns for all keys."""
        names = [rule.encode() for rule in rules]
        stored = self._matches.data.items()
        for key in [key for key, rows in stored if _may_name(rows, rules, names)]:
            self.of(key)
        for key, live in self._live.items():
            for rule in rules.intersection(live.matches):
                live.drop(rule)
                self._touched.add(key)

    def flush(self) -> None:
        """Write the changes since the last flush to the state."""
        for key in self._touched:
            self._store(key, self._live[key])
        if len(self._live) > KEPT:
            self._let_go(len(self._live) - KEPT)
        self._touched.clear()

    def _let_go(self, count: int) -> None:
        """Drop the objects of ``count`` keys: first of keys that were not processed, then of the
        most recent keys. If all keys are processed in rounds, the next round thus still finds
        the objects of its first keys."""
        idle = [key for key in self._live if key not in self._touched]
        busy = [key for key in reversed(self._live) if key in self._touched]
        for key in islice(chain(idle, busy), count):
            del self._live[key]

    # -- reading -----------------------------------------------------------------------------------

    def _load(self, key: Any) -> KeyMatches:
        rows = self._matches.data.get(key)
        if rows is None:
            return KeyMatches()
        self._events.prefetch((key,))
        events = dict(self._events.data.get(key, {}))
        self.hold(events.values())
        matches = BufferReading(self._name, rows, events).read(self._automaton_of)
        self._on_read(matches)
        return matches

    # -- writing -----------------------------------------------------------------------------------

    def _store(self, key: Any, live: KeyMatches) -> None:
        before, live.partial = live.partial, sum(len(m.partial) for m in live.matches.values())
        self.partial_matches += live.partial - before
        if not live:
            self._matches.drop(key)
            self._events.drop(key)
            del self._live[key]
            return
        dirty: set[Order] = set()
        writing = _BufferWriting(live)
        for rule in live.changed:
            matches = live.matches.get(rule)
            if not matches:
                live.matches.pop(rule, None)
                matches = NOTHING
            if writing.entries:
                writing = _BufferWriting(live)
            self._store_begun(
                key, live, rule, writing.begun(matches, self._version_of, rule), dirty
            )
            if matches.held_back or rule in live.held_back:
                self._store_held_back(key, live, rule, writing.held_back(matches))
            if writing.entries or rule in live.chains:
                self._store_chains(key, live, rule, writing)
        for start in dirty:
            self._store_start(key, live, start)
        if live.changed:
            self._matches.put(key, COUNTS, (live.events, live.entries, live.time, live.partial))
            live.changed.clear()

    def _store_begun(
        self,
        key: Any,
        live: KeyMatches,
        rule: str,
        begun: dict[BufferedEvent, Begun],
        dirty: set[Order],
    ) -> None:
        """Record a rule's partial matches. ``dirty`` collects the first events whose rows must
        be written."""
        starts: set[Order] = set()
        for event, partial in begun.items():
            start = event.order
            starts.add(start)
            rules = live.begun.get(start)
            if rules is None:
                rules = live.begun[start] = {}
                if start not in live.uses:
                    self._events.put(key, start, event.value)
            if rules.get(rule) != partial:
                rules[rule] = partial
                dirty.add(start)
        before = live.starts.get(rule)
        if before is not None and before != starts:
            for start in before - starts:
                del live.begun[start][rule]
                dirty.add(start)
        if starts:
            live.starts[rule] = starts
        elif before is not None:
            del live.starts[rule]

    def _store_start(self, key: Any, live: KeyMatches, start: Order) -> None:
        rules = live.begun[start]
        if rules:
            self._matches.put(key, start, msgspec.msgpack.encode(rules))
            return
        del live.begun[start]
        self._matches.remove(key, start)
        if start not in live.uses:
            self._events.remove(key, start)

    def _store_held_back(self, key: Any, live: KeyMatches, rule: str, held_back: Any) -> None:
        if held_back:
            live.held_back.add(rule)
            self._matches.put(key, rule, (self._version_of(rule), held_back))
        else:
            live.held_back.discard(rule)
            self._matches.remove(key, rule)

    def _store_chains(self, key: Any, live: KeyMatches, rule: str, writing: _BufferWriting) -> None:
        before = live.chains.pop(rule, None) or Chains()
        for entry in writing.fresh:
            last = 0 if entry.before is None else entry.before.number
            self._matches.put(key, entry.number, (last, entry.name, entry.event.order))
        for order, value in writing.events.items():
            if order not in before.events:
                uses = live.uses.get(order, 0)
                if not uses and order not in live.begun:
                    self._events.put(key, order, value)
                live.uses[order] = uses + 1
        if writing.entries:
            live.chains[rule] = Chains(writing.entries, set(writing.events))
        for number in before.entries - writing.entries:
            self._matches.remove(key, number)
        for order in before.events - writing.events.keys():
            live.uses[order] -= 1
            if not live.uses[order]:
                del live.uses[order]
                if order not in live.begun:
                    self._events.remove(key, order)


NOTHING = Matches()


def _may_name(rows: Any, rules: set[str], names: list[bytes]) -> bool:
    """Whether the rows of a key may belong to one of the rules, without decoding the rows."""
    return any(
        inner in rules if type(inner) is str else any(name in row for name in names)
        for inner, row in rows.items()
        if type(inner) is not int
    )


@lru_cache(100_000)
def _one(version: int, label: str, last: str) -> Begun:
    """One partial match. Keys with an equal partial match share this object."""
    return version, ((label, last),)


class _BufferWriting:
    """Collects the entries and events that partial matches need."""

    def __init__(self, live: KeyMatches) -> None:
        self._live = live
        self.entries: set[int] = set()
        self.events: dict[Order, Any] = {}
        self.fresh: list[MatchedEntry] = []

    def begun(
        self, matches: Matches, version_of: Callable[[str], int], rule: str
    ) -> dict[BufferedEvent, Begun]:
        """Partial matches of a rule, by their first events."""
        if not matches.partial:
            return {}
        only = matches.partial[0]
        if len(matches.partial) == 1 and only.last.event is only.start and not matches.held_back:
            # by far the most there are, where there are many rules
            only.last.before = None
            return {only.start: _one(version_of(rule), only.state.label, only.last.name)}
        self._keep(matches)
        partial: dict[BufferedEvent, list[tuple[str, str | int]]] = {}
        for match in matches.partial:
            last = match.last
            named = last.name if last.event is match.start else last.number
            partial.setdefault(match.start, []).append((match.state.label, named))
        version = version_of(rule)
        return {event: (version, tuple(begun)) for event, begun in partial.items()}

    def held_back(self, matches: Matches) -> tuple[tuple[int, Order], ...]:
        """Matches of a rule that are held back."""
        self._keep(matches)
        return tuple((match.last.number, match.start.order) for match in matches.held_back)

    def _keep(self, matches: Matches) -> None:
        """Number the entries that the matches of a rule need, and cut the rest off. The matches
        are processed from the earliest on, because an early match needs most of a chain."""
        if self.entries:
            return
        needed: list[PartialMatch | FoundMatch] = [
            match for match in matches.partial if match.last.event is not match.start
        ]
        if matches.held_back:
            needed = sorted(chain(needed, matches.held_back), key=_start)
        for match in needed:
            self._number(match.last, match.start)
        for match in matches.partial:
            if match.last.number not in self.entries:
                match.last.before = None

    def _number(self, last: MatchedEntry, start: BufferedEvent) -> None:
        """Number an entry and all entries before it, back to the first event."""
        entry: MatchedEntry | None = last
        while entry is not None and entry.number not in self.entries:
            if not entry.number:
                self._live.entries += 1
                entry.number = self._live.entries
                self.fresh.append(entry)
            self.entries.add(entry.number)
            self.events[entry.event.order] = entry.event.value
            if entry.event is start:
                entry.before = None
            entry = entry.before


def _start(match: PartialMatch | FoundMatch) -> Order:
    return match.start.order
