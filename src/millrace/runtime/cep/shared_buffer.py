"""Partial matches and their events in keyed state.

Per key one table holds the entries and what leads to them, another the events, each once. While a
key is worked on its matches are objects that share what they have in common; at the end of an epoch
what is new is written and what nothing leads to any more is removed, so a checkpoint follows what
changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from millrace.common.errors import CheckpointError
from millrace.common.typeinfo import Types
from millrace.runtime.cep.automaton import Automaton
from millrace.runtime.cep.partial_match import (
    BufferedEvent,
    Entry,
    FoundMatch,
    KeyMatches,
    Matches,
    Order,
    PartialMatch,
    Stored,
)
from millrace.runtime.operator import OperatorContext
from millrace.state.frozen import is_immutable
from millrace.state.internal_tables import MATCHED_EVENTS, PARTIAL_MATCHES
from millrace.state.nested_table import NestedTable

__all__ = ["SharedBuffer"]

COUNTS = 0
"""Inner key of how many events and entries of a key were numbered. Entries are under their numbers,
what a rule has under the rule's name."""
KEPT = 10_000
"""So many keys' matches stay objects from epoch to epoch."""

AutomatonOf = Callable[[str, int], Automaton | None]
"""From a rule's name and version to its automaton; None: there is no such rule any more."""
StoredMatches = tuple[int, tuple[tuple[str, int, Order], ...], tuple[tuple[int, Order], ...]]
"""A rule's version; its partial matches (state, last entry, first event); those held back (last
entry, first event)."""


class SharedBuffer:
    """The partial matches of all keys of a subtask.

    Args:
        automaton_of: the pattern of a rule.
        version_of: the version that a rule's matches are of.
    """

    def __init__(
        self,
        context: OperatorContext,
        automaton_of: AutomatonOf,
        version_of: Callable[[str], int] = lambda rule: 0,
    ) -> None:
        state, uid = context.state, context.uid
        record = state.record_type(uid)
        declared = None if record is None else Types.MAP(Types.PICKLED_BYTE_ARRAY(), record)
        self._name = context.name
        self._matches: NestedTable = state.table(f"{uid}/{PARTIAL_MATCHES}", "map")
        self._events: NestedTable = state.table(f"{uid}/{MATCHED_EVENTS}", "map", declared)
        self._automaton_of = automaton_of
        self._version_of = version_of
        self.forget()

    def forget(self) -> None:
        """The tables hold something else than before."""
        self._live: dict[Any, KeyMatches] = {}
        self._touched: set[Any] = set()
        self.mutable = False
        """Whether any event kept here can be changed in place."""

    def prefetch(self, keys: Iterable[Any]) -> None:
        """These keys are about to be worked on."""
        self._matches.prefetch(keys)

    def active(self, keys: set[Any]) -> set[Any]:
        """Which of the keys have matches."""
        return (self._live.keys() & keys).union(filter(self._matches.data.__contains__, keys))

    def stored(self) -> Iterator[tuple[Any, KeyMatches]]:
        """What keyed state has of all keys, to be read only.

        Raises:
            CheckpointError: the pattern has no place for a partial match.
        """
        for key in list(self._matches.data):
            yield key, self._load(key)

    def hold(self, values: Iterable[Any]) -> None:
        """Events may become part of matches."""
        self.mutable = self.mutable or not all(map(is_immutable, values))

    def of(self, key: Any) -> KeyMatches:
        """What a key has, to be changed."""
        self._touched.add(key)
        live = self._live.get(key)
        if live is None:
            live = self._live[key] = self._load(key)
        return live

    def drop_if_empty(self, key: Any, matches: KeyMatches) -> None:
        """Forget a key that has nothing and never had."""
        if not matches.stored and not matches:
            self._touched.discard(key)
            del self._live[key]

    def drop_rules(self, rules: set[str]) -> None:
        """Patterns are gone: so is what they have of any key."""
        for key in [key for key, rows in self._matches.data.items() if not rules.isdisjoint(rows)]:
            self.of(key)
        for key, live in self._live.items():
            for rule in rules.intersection(live.matches):
                live.drop(rule)
                self._touched.add(key)

    def flush(self) -> None:
        """Write what has changed since the last time."""
        for key in self._touched:
            self._store(key, self._live[key])
        self._touched.clear()
        if len(self._live) > KEPT:
            self._live.clear()

    # -- reading -----------------------------------------------------------------------------------

    def _load(self, key: Any) -> KeyMatches:
        rows = self._matches.data.get(key)
        if rows is None:
            return KeyMatches()
        self._events.prefetch((key,))
        events = dict(self._events.data.get(key, {}))
        self.hold(events.values())
        reading = _Reading(self._name, dict(rows), events)
        for rule, stored in reading.rules():
            automaton = self._automaton_of(rule, stored[0])
            if automaton is None:
                reading.result.changed.add(rule)
            else:
                reading.result.matches[rule] = reading.matches(stored, automaton)
        return reading.result

    # -- writing -----------------------------------------------------------------------------------

    def _store(self, key: Any, live: KeyMatches) -> None:
        if not live:
            self._matches.drop(key)
            self._events.drop(key)
            del self._live[key]
            return
        for rule in live.changed:
            matches = live.matches.get(rule)
            if matches:
                self._store_rule(key, live, rule, matches)
            else:
                live.matches.pop(rule, None)
                self._matches.remove(key, rule)
                self._replace(key, live, rule, Stored())
        live.changed.clear()
        self._matches.put(key, COUNTS, (live.events, live.entries))

    def _store_rule(self, key: Any, live: KeyMatches, rule: str, matches: Matches) -> None:
        before = live.stored.get(rule)
        writing = _Writing(live)
        row = writing.stored(matches)
        self._matches.put(key, rule, (self._version_of(rule), *row))
        for entry in writing.fresh:
            last = 0 if entry.before is None else entry.before.number
            self._matches.put(key, entry.number, (last, entry.name, entry.event.order))
        for order, value in writing.events.items():
            if before is None or order not in before.events:
                uses = live.uses.get(order, 0)
                if not uses:
                    self._events.put(key, order, value)
                live.uses[order] = uses + 1
        self._replace(key, live, rule, Stored(writing.entries, set(writing.events)))

    def _replace(self, key: Any, live: KeyMatches, rule: str, stored: Stored) -> None:
        """What a rule has in keyed state is no longer what it was; remove what it has no more."""
        before = live.stored.pop(rule, None)
        if stored.entries:
            live.stored[rule] = stored
        if before is None:
            return
        for number in before.entries - stored.entries:
            self._matches.remove(key, number)
        for order in before.events - stored.events:
            live.uses[order] -= 1
            if not live.uses[order]:
                del live.uses[order]
                self._events.remove(key, order)


class _Reading:
    """Makes objects of what keyed state has of a key."""

    def __init__(self, operator: str, rows: dict[Any, Any], events: dict[Order, Any]) -> None:
        self._operator = operator
        self.rows = rows
        self._events = {order: BufferedEvent(order, value) for order, value in events.items()}
        self._entries: dict[int, Entry] = {}
        self.result = KeyMatches()

    def rules(self) -> list[tuple[str, StoredMatches]]:
        """What there is of each rule; takes note of what that uses."""
        result, rows = self.result, self.rows
        result.events, result.entries = rows[COUNTS]
        rules = [(inner, row) for inner, row in rows.items() if type(inner) is str]
        for rule, (_, partial, held_back) in rules:
            lasts = {match[1] for match in partial} | {match[0] for match in held_back}
            stored = result.stored[rule] = self._used(lasts)
            for order in stored.events:
                result.uses[order] = result.uses.get(order, 0) + 1
        return rules

    def _used(self, lasts: set[int]) -> Stored:
        """The entries that lead to these, and their events."""
        stored = Stored()
        for number in lasts:
            while number and number not in stored.entries:
                stored.entries.add(number)
                number, _, order = self.rows[number]
                stored.events.add(order)
        return stored

    def matches(self, stored: StoredMatches, automaton: Automaton) -> Matches:
        """The matches of one rule."""
        _, partial, held_back = stored
        return Matches(
            [
                PartialMatch(self._state(automaton, label), self._entry(last), self._events[start])
                for label, last, start in partial
            ],
            [
                FoundMatch(self._entry(last), self._events[start], start[0])
                for last, start in held_back
            ],
        )

    def _state(self, automaton: Automaton, label: str) -> Any:
        state = automaton.named(label)
        if state is None:
            raise unknown_state(self._operator, label, automaton)
        return state

    def _entry(self, number: int) -> Entry:
        """An entry, with all before it."""
        missing = []
        while number and number not in self._entries:
            missing.append(number)
            number = self.rows[number][0]
        before = self._entries[number] if number else None
        for number in reversed(missing):
            _, name, order = self.rows[number]
            before = self._entries[number] = Entry(before, name, self._events[order], number)
        assert before is not None
        return before


class _Writing:
    """Gathers what partial matches lead to."""

    def __init__(self, live: KeyMatches) -> None:
        self._live = live
        self.entries: set[int] = set()
        self.events: dict[Order, Any] = {}
        self.fresh: list[Entry] = []

    def stored(self, matches: Matches) -> tuple[Any, Any]:
        """What one rule has, as it is kept."""
        partial = tuple(
            (match.state.label, self._number(match.last), match.start.order)
            for match in matches.partial
        )
        held_back = tuple(
            (self._number(match.last), match.start.order) for match in matches.held_back
        )
        return partial, held_back

    def _number(self, last: Entry) -> int:
        """The number of an entry; it and all before it are needed."""
        entry: Entry | None = last
        while entry is not None and entry.number not in self.entries:
            if not entry.number:
                self._live.entries += 1
                entry.number = self._live.entries
                self.fresh.append(entry)
            self.entries.add(entry.number)
            self.events[entry.event.order] = entry.event.value
            entry = entry.before
        return last.number


def unknown_state(operator: str, label: str, automaton: Automaton) -> CheckpointError:
    """What to say of partial matches that the pattern has no place for."""
    place, *targets = label.split("\n")
    waits = f" and waits for {' or '.join(map(repr, targets))}" if targets else ""
    known = ", ".join(repr(position.label) for position in automaton.positions)
    return CheckpointError(
        f"operator '{operator}': the checkpoint has a partial match that has come to '{place}'"
        f"{waits}, which the pattern of the program no longer has (it has {known}); keep the names "
        "and the order of what partial matches may have reached, or give the operator a new uid "
        "and start without them (--allow-non-restored-state)"
    )
