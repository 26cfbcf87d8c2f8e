"""Reads the partial matches of a key from keyed state."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from millrace.common.errors import CheckpointError
from millrace.runtime.cep.automaton import BEGINNING, Automaton
from millrace.runtime.cep.partial_match import (
    BufferedEvent,
    Chains,
    FoundMatch,
    KeyMatches,
    MatchedEntry,
    Matches,
    Order,
    PartialMatch,
    entries_between,
)
from millrace.runtime.cep.position import NUMBERED

__all__ = ["COUNTS", "AutomatonOf", "BufferReading"]

COUNTS = 0
"""Inner key of a row of counts: numbered events and entries of a key, its last time, and its
partial matches. Entries are stored under their numbers, partial matches of all rules under the
order of their first event, and matches that are held back under the name of their rule."""
AutomatonOf = Callable[[str, int], Automaton | None]
"""Function from a rule's name and version to its automaton. None if the rule no longer exists."""
_BEGUN = msgspec.msgpack.Decoder(dict[str, tuple[int, tuple[tuple[str, str | int], ...]]])
"""Per rule: its version, and the state and last entry of each partial match."""


class BufferReading:
    """Reads the rows of one key.

    Args:
        rows: rows of partial matches and entries.
        events: events of the matches, by their order.
    """

    def __init__(self, operator: str, rows: Mapping[Any, Any], events: Mapping[Order, Any]) -> None:
        self._operator = operator
        self._rows = rows
        self._events = {order: BufferedEvent(order, value) for order, value in events.items()}
        self._entries: dict[int, MatchedEntry] = {}
        self._taken: dict[tuple[str, str, Order], MatchedEntry] = {}
        """Entries by rule, name and event."""
        self._automata: dict[str, Automaton] = {}
        """Automata of the rules that have partial matches."""
        self._result = KeyMatches()

    def read(self, automaton_of: AutomatonOf) -> KeyMatches:
        """All matches of the key. Matches of removed rules are included, for the caller to remove.

        Raises:
            CheckpointError: a pattern has no place for a partial match.
        """
        result, rows = self._result, self._rows
        result.events, result.entries, result.time, result.partial = rows[COUNTS]
        for start in sorted(inner for inner in rows if type(inner) is tuple):
            result.begun[start] = _BEGUN.decode(rows[start])
        result.held_back = {inner for inner in rows if type(inner) is str}
        for rule, ends in self._ends().items():
            self._read_chains(rule, ends)
        for start, begun in result.begun.items():
            for rule, (version, partial) in begun.items():
                automaton = automaton_of(rule, version)
                if automaton is None:
                    result.changed.add(rule)
                else:
                    self._read_begun(automaton, rule, start, partial)
        for rule in result.held_back:
            version, held_back = rows[rule]
            if automaton_of(rule, version) is None:
                result.changed.add(rule)
            else:
                self._matches(rule).held_back = [
                    FoundMatch(self._entries[last], self._events[start], start[0])
                    for last, start in held_back
                ]
        for rule, automaton in self._automata.items():
            self._check(automaton, result.matches[rule].partial)
        return result

    def _ends(self) -> dict[str, list[tuple[Order, int]]]:
        """For each rule, one pair per match: the match's first event and the number of its last
        entry."""
        ends: dict[str, list[tuple[Order, int]]] = {}
        for start, begun in self._result.begun.items():
            for rule, (_, partial) in begun.items():
                self._result.starts.setdefault(rule, set()).add(start)
                lasts = [(start, last) for _, last in partial if type(last) is int]
                if lasts:
                    ends.setdefault(rule, []).extend(lasts)
        for rule in self._result.held_back:
            ends.setdefault(rule, []).extend((start, last) for last, start in self._rows[rule][1])
        return ends

    def _read_chains(self, rule: str, ends: list[tuple[Order, int]]) -> None:
        """Create the entries of a rule. The earliest matches come first, since they need most of
        a chain."""
        chains = self._result.chains[rule] = Chains()
        for start, last in sorted(ends):
            missing = []
            number = last
            while number and number not in self._entries:
                missing.append(number)
                before, _, order = self._rows[number]
                number = 0 if order == start else before
            entry = self._entries.get(number)
            for number in reversed(missing):
                _, name, order = self._rows[number]
                entry = MatchedEntry(entry, name, self._events[order], number)
                self._entries[number] = self._taken[rule, name, order] = entry
                chains.entries.add(number)
                chains.events.add(order)
        for order in chains.events:
            self._result.uses[order] = self._result.uses.get(order, 0) + 1

    def _matches(self, rule: str) -> Matches:
        return self._result.matches.setdefault(rule, Matches())

    def _read_begun(
        self,
        automaton: Automaton,
        rule: str,
        start: Order,
        partial: Iterable[tuple[str, str | int]],
    ) -> None:
        event = self._events[start]
        self._automata[rule] = automaton
        for label, last in partial:
            if type(last) is int:
                entry = self._entries[last]
            else:
                entry = self._first_entry(rule, str(last), event)
            state = automaton.named(label)
            if state is None or not state.transitions:
                raise self._unknown_state(label, entries_between(event, entry), automaton)
            self._matches(rule).partial.append(PartialMatch(state, entry, event))

    def _first_entry(self, rule: str, name: str, event: BufferedEvent) -> MatchedEntry:
        """Entry of a match that has taken only one event. Earlier matches that took the event
        for the same name share the entry."""
        shared = self._taken.get((rule, name, event.order)) if self._taken else None
        return MatchedEntry(None, name, event) if shared is None else shared

    def _check(self, automaton: Automaton, partial: list[PartialMatch]) -> None:
        """Check that the events taken by partial matches still lead to their states in this
        pattern.

        Matches with the same last entry differ only in their first events. For the first of them,
        the positions of all events are followed through the pattern; for the others, only until the
        positions are the same.
        """
        ends: dict[MatchedEntry, list[PartialMatch]] = {}
        for match in partial:
            last = match.last
            if last.event is not match.start:
                ends.setdefault(last, []).append(match)
            elif match.state.position not in automaton.spelled(BEGINNING, last.name):
                raise self._unknown_state(match.state.label, [last], automaton)
        for matches in ends.values():
            entries = entries_between(matches[0].start, matches[0].last)
            orders = [entry.event.order for entry in entries]
            path = [BEGINNING]
            for entry in entries:
                path.append(automaton.spelled(path[-1], entry.name))
            for match in matches:
                number, places = bisect_left(orders, match.start.order), BEGINNING
                while number < len(entries) and places != path[number]:
                    places = automaton.spelled(places, entries[number].name)
                    number += 1
                if match.state.position not in (path[-1] if number < len(entries) else places):
                    taken = entries_between(match.start, match.last)
                    raise self._unknown_state(match.state.label, taken, automaton)

    def _unknown_state(
        self, label: str, taken: list[MatchedEntry], automaton: Automaton
    ) -> CheckpointError:
        """The error about a partial match in a state that the pattern no longer has."""
        _, *targets = (mark.partition(NUMBERED)[0] or "the end" for mark in label.split("\n"))
        waits = f" and waits for {' or '.join(map(repr, targets))}" if targets else ""
        names = ", ".join(repr(name) for name in dict.fromkeys(entry.name for entry in taken))
        known = ", ".join(repr(position.label) for position in automaton.positions)
        return CheckpointError(
            f"operator '{self._operator}': the checkpoint has a partial match that has taken "
            f"{names}{waits}; the pattern of the program has no place for it (it has {known}). "
            "Keep the names and the order of what partial matches may have reached, or give the "
            "operator a new uid and start without them (--allow-non-restored-state)"
        )
