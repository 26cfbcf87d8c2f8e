"""The automaton that partial matches move through: which ways are open, and what an event does.

A state is a position with those of its ways that are still open. What an event does to a state
depends only on which of the state's conditions it satisfies, so each outcome is worked out once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from millrace.common.functions.pattern_conditions import Condition
from millrace.runtime.cep.pattern_model import Contiguity, EventPattern
from millrace.runtime.cep.position import Guard, Position, Way
from millrace.runtime.cep.position_compiler import compile_pattern

__all__ = ["BEGINNING", "Automaton", "MatchState", "Outcome", "Places", "Test"]

_SEPARATOR = "\n"
"""Between the labels of a position and of where its open ways lead."""


@dataclass(frozen=True, eq=False, slots=True)
class Test:
    """A condition that is evaluated, and for which pattern."""

    condition: Condition
    call: Callable[..., Any]
    iterative: bool
    description: str
    """Which pattern's condition it is, in words."""


@dataclass(frozen=True, eq=False, slots=True)
class Outcome:
    """What an event does to partial matches in a state."""

    takes: tuple[MatchState, ...]
    """The states after taking it, in the order of the pattern."""
    stays: MatchState | None
    """The state after passing it over; None: that cannot be."""
    finished: bool
    """Whether the match is found, without the event."""


Places = frozenset[Position | None]
"""Where a partial match may be; None: it has taken nothing."""
BEGINNING: Places = frozenset((None,))


class MatchState:
    """A position, and the ways that are open."""

    __slots__ = (
        "accepting",
        "closing",
        "iterative",
        "label",
        "name",
        "outcomes",
        "pending",
        "position",
        "tests",
        "ways",
    )

    def __init__(
        self, position: Position | None, ways: tuple[Way, ...], tests: tuple[Test, ...]
    ) -> None:
        self.position = position
        """Where the last event was taken; None: nothing was."""
        self.name = "" if position is None else position.name
        """Of the pattern that the last event was taken for."""
        self.ways = ways
        self.tests = tests
        self.iterative = any(test.iterative for test in tests)
        self.outcomes: dict[int, Outcome] = {}
        """By the conditions that are satisfied, as bits in the order of the tests."""
        self.accepting = position is not None and position.accepting
        self.pending = next((way for way in ways if way.pending), None)
        """The way that leads to the end when time is over."""
        gaps = [way.gap for way in ways if way.gap is not None]
        self.closing = min(gaps, default=None)
        """When the first way closes by itself, ms after the last event."""
        self.label = _label(position, ways)
        """What it is called in checkpoints."""

    def __repr__(self) -> str:
        return f"<state {self.label}>"


class Automaton:
    """A compiled pattern.

    Raises:
        MalformedPatternError: the pattern contradicts itself.

    Example:
        >>> from millrace.runtime.cep.pattern_model import Contiguity, Event
        >>> automaton = Automaton(EventPattern((Event("a"), Event("b", None, Contiguity.STRICT))))
        >>> automaton.positions
        (<position a>, <position b>)
        >>> automaton.start.outcomes == {} and automaton.start.ways[0].label
        'a'
    """

    def __init__(self, pattern: EventPattern) -> None:
        compiled = compile_pattern(pattern)
        self.pattern = pattern
        self.positions = compiled.positions
        self.within = pattern.within
        self.skip = pattern.skip
        self._tests: dict[int, Test] = {}
        self._states: dict[tuple[Position | None, tuple[Way, ...]], MatchState] = {}
        self._labels: dict[str, MatchState | None] = {}
        self._spelled: dict[tuple[Places, str], Places] = {}
        self.start = self.state(None, compiled.start)
        """The state of a match that has taken nothing."""
        self.has_gaps = any(way.gap is not None for p in self.positions for way in p.ways)

    # -- states --------------------------------------------------------------------------------

    def state(self, position: Position | None, ways: tuple[Way, ...]) -> MatchState:
        """The state of a position with these ways open; always the same object."""
        found = self._states.get((position, ways))
        if found is None:
            found = MatchState(position, ways, self._tests_of(ways))
            self._states[position, ways] = found
            self._labels[found.label] = found
        return found

    def after(self, position: Position) -> MatchState:
        """The state when an event was just taken at a position."""
        return self.state(position, tuple(way for way in position.ways if not way.at_once))

    def without_closed(self, state: MatchState, waited: int) -> MatchState | None:
        """The state without the ways that are closed ``waited`` ms after the last event; None:
        there are no others."""
        ways = tuple(way for way in state.ways if way.gap is None or way.gap > waited)
        return self.state(state.position, ways) if ways else None

    def named(self, label: str) -> MatchState | None:
        """The state of that label; None: the pattern has none."""
        if label not in self._labels:
            self._labels[label] = self._restored(label)
        return self._labels[label]

    def spelled(self, places: Places, name: str) -> Places:
        """Where an event taken for ``name`` may lead from any of these places."""
        found = self._spelled.get((places, name))
        if found is None:
            ways = (way for p in places for way in (self.start if p is None else p).ways)
            found = frozenset(
                way.target for way in ways if way.target is not None and way.target.name == name
            )
            self._spelled[places, name] = found
        return found

    def _restored(self, label: str) -> MatchState | None:
        place, *wanted = label.split(_SEPARATOR)
        for position in self.positions:
            if position.mark == place:
                state = self.after(position)
                if not wanted:
                    return state
                both = (each for way in state.ways for each in (way, way.after_waiting()))
                there = {way.mark: way for way in both if way.mark in wanted}
                ways = tuple(there.values())
                return self.state(position, ways) if there.keys() >= set(wanted) else None
        return None

    # -- what an event does --------------------------------------------------------------------

    def outcome(self, state: MatchState, satisfied: int) -> Outcome:
        """What an event does to a state whose tests it satisfies as the bits say."""
        found = state.outcomes.get(satisfied)
        if found is None:
            true = {
                id(test.condition): bool(satisfied >> bit & 1)
                for bit, test in enumerate(state.tests)
            }
            found = state.outcomes[satisfied] = self._outcome(state, true)
        return found

    def _outcome(self, state: MatchState, true: dict[int, bool]) -> Outcome:
        def any_true(guards: tuple[Guard, ...]) -> bool:
            return bool(guards) and any(true[id(guard.condition)] for guard in guards)

        def fits(target: Position) -> bool:
            return target.condition is None or true[id(target.condition)]

        def accepts(target: Position) -> bool:
            return fits(target) and not any_true(target.refused)

        def is_closed(way: Way) -> bool:
            if any_true(way.unless) or any_true(way.until):
                return True
            if not any_true(way.not_next):
                return False
            return not (way.greedy and way.target is not None and accepts(way.target))

        open_ways = [way for way in state.ways if not is_closed(way)]
        accepted = {w.target for w in open_ways if w.target is not None and accepts(w.target)}
        takes: dict[Position, MatchState] = {}
        stays: list[Way] = []
        finished = False
        for way in open_ways:
            if accepted.intersection(way.yields_to):
                continue
            if way.target is None:
                finished = finished or not way.pending
                stays += [way.after_waiting()] if way.pending else []
            elif way.target in accepted:
                takes[way.target] = self.after(way.target)
                stays += [way.after_waiting()] if way.contiguity is Contiguity.ANY else []
            elif way.contiguity is Contiguity.ANY or not (
                way.contiguity is Contiguity.STRICT or fits(way.target)
            ):
                stays.append(way.after_waiting())
        remaining = self.state(state.position, tuple(stays)) if stays else None
        return Outcome(tuple(takes.values()), remaining, finished)

    def _tests_of(self, ways: Sequence[Way]) -> tuple[Test, ...]:
        """The conditions that decide about ways, each once."""
        tests: dict[int, Test] = {}
        for way in ways:
            for guard in (*way.unless, *way.not_next):
                self._add_test(tests, guard.condition, f"'{guard.name}' (which must not occur)")
            for guard in way.until:
                self._add_test(tests, guard.condition, f"the end (until) of '{guard.name}'")
            if way.target is not None:
                for guard in way.target.refused:
                    self._add_test(tests, guard.condition, f"the end (until) of '{guard.name}'")
                if way.target.condition is not None:
                    self._add_test(tests, way.target.condition, f"'{way.target.name}'")
        return tuple(tests.values())

    def _add_test(self, tests: dict[int, Test], condition: Condition, description: str) -> None:
        known = self._tests.get(id(condition))
        if known is None:
            known = Test(condition, condition.call, condition.iterative, description)
            self._tests[id(condition)] = known
        tests[id(condition)] = known


def _label(position: Position | None, ways: tuple[Way, ...]) -> str:
    if position is None:
        return ""
    at_first = tuple(way for way in position.ways if not way.at_once)
    if ways == at_first:
        return position.mark
    return _SEPARATOR.join([position.mark, *(way.mark for way in ways)])
