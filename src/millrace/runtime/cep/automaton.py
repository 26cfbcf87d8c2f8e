"""Automaton of a pattern: the states of partial matches, and the outcome of an event in each state.

A state is a position with its open transitions. The effect of an event on a state depends only on
which of the state's conditions it satisfies, so each outcome is computed once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from millrace.common.functions.pattern_conditions import Condition
from millrace.runtime.cep.pattern_model import Contiguity, EventPattern
from millrace.runtime.cep.position import Guard, PatternPosition, Transition
from millrace.runtime.cep.position_compiler import compile_pattern

__all__ = [
    "BEGINNING",
    "Automaton",
    "MatchState",
    "MatchOutcome",
    "PatternPositions",
    "NamedCondition",
]

_SEPARATOR = "\n"
"""Separator of the labels of a position and of the targets of its open transitions."""


@dataclass(frozen=True, eq=False, slots=True)
class NamedCondition:
    """A condition to evaluate, and the pattern for which it is evaluated."""

    condition: Condition
    call: Callable[..., Any]
    iterative: bool
    description: str
    """Description of the pattern's condition, for messages."""


@dataclass(frozen=True, eq=False, slots=True)
class MatchOutcome:
    """Next states of a partial match after an event, and whether the match is complete without the
    event.
    """

    taken: tuple[MatchState, ...]
    """States after the event was taken, in the order of the pattern."""
    ignored: MatchState | None
    """State after the event was skipped. None if it cannot be skipped."""
    finished: bool
    """Whether the match is complete without the event."""


PatternPositions = frozenset[PatternPosition | None]
"""Possible positions of a partial match. None stands for the beginning, with no event taken."""
BEGINNING: PatternPositions = frozenset((None,))


class MatchState:
    """State of a partial match: a position, and the open transitions from it."""

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
        "transitions",
    )

    def __init__(
        self,
        position: PatternPosition | None,
        transitions: tuple[Transition, ...],
        tests: tuple[NamedCondition, ...],
    ) -> None:
        self.position = position
        """Position at which the last event was taken. None if no event was taken."""
        self.name = "" if position is None else position.name
        """Name of the pattern that the last event was taken for."""
        self.transitions = transitions
        self.tests = tests
        self.iterative = any(test.iterative for test in tests)
        self.outcomes: dict[int, MatchOutcome] = {}
        """Outcomes by satisfied conditions, as bits in the order of the tests."""
        self.accepting = position is not None and position.accepting
        self.pending = next((transition for transition in transitions if transition.pending), None)
        """Transition that leads to the end when the time of the pattern is over."""
        window_times = [
            transition.window_time
            for transition in transitions
            if transition.window_time is not None
        ]
        self.closing = min(window_times, default=None)
        """Ms after the last event at which the first transition closes by itself."""
        self.label = _label(position, transitions)
        """Name of the state in checkpoints."""

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
        >>> automaton.start.outcomes == {} and automaton.start.transitions[0].label
        'a'
    """

    def __init__(self, pattern: EventPattern) -> None:
        compiled = compile_pattern(pattern)
        self.pattern = pattern
        self.positions = compiled.positions
        self.within = pattern.within
        self.skip = pattern.skip
        self._tests: dict[int, NamedCondition] = {}
        self._states: dict[tuple[PatternPosition | None, tuple[Transition, ...]], MatchState] = {}
        self._labels: dict[str, MatchState | None] = {}
        self._spelled: dict[tuple[PatternPositions, str], PatternPositions] = {}
        self.start = self.state(None, compiled.start)
        """State of a match that has taken no event."""
        self.has_gaps = any(
            transition.window_time is not None
            for p in self.positions
            for transition in p.transitions
        )

    # -- states --------------------------------------------------------------------------------

    def state(
        self, position: PatternPosition | None, transitions: tuple[Transition, ...]
    ) -> MatchState:
        """State for a position and its open transitions. Equal arguments return the same object."""
        known = self._states.get((position, transitions))
        if known is None:
            known = MatchState(position, transitions, self._tests_of(transitions))
            self._states[position, transitions] = known
            self._labels[known.label] = known
        return known

    def after(self, position: PatternPosition) -> MatchState:
        """State right after an event was taken at a position."""
        return self.state(
            position,
            tuple(transition for transition in position.transitions if not transition.at_once),
        )

    def without_closed(self, state: MatchState, waited: int) -> MatchState | None:
        """The state without the transitions that are closed ``waited`` ms after the last event.
        None if no transition is left."""
        transitions = tuple(
            transition
            for transition in state.transitions
            if transition.window_time is None or transition.window_time > waited
        )
        return self.state(state.position, transitions) if transitions else None

    def named(self, label: str) -> MatchState | None:
        """State with this label. None if the pattern has no such state."""
        if label not in self._labels:
            self._labels[label] = self._restored(label)
        return self._labels[label]

    def spelled(self, places: PatternPositions, name: str) -> PatternPositions:
        """Positions that are reached if an event is taken for the pattern ``name`` at one of
        ``places``.
        """
        known = self._spelled.get((places, name))
        if known is None:
            transitions = (
                transition
                for p in places
                for transition in (self.start if p is None else p).transitions
            )
            known = frozenset(
                transition.target
                for transition in transitions
                if transition.target is not None and transition.target.name == name
            )
            self._spelled[places, name] = known
        return known

    def _restored(self, label: str) -> MatchState | None:
        place, *wanted = label.split(_SEPARATOR)
        for position in self.positions:
            if position.checkpoint_name == place:
                state = self.after(position)
                if not wanted:
                    return state
                both = (
                    form
                    for transition in state.transitions
                    for form in (transition, transition.after_waiting())
                )
                there = {
                    transition.checkpoint_name: transition
                    for transition in both
                    if transition.checkpoint_name in wanted
                }
                transitions = tuple(there.values())
                return self.state(position, transitions) if there.keys() >= set(wanted) else None
        return None

    # -- what an event does --------------------------------------------------------------------

    def outcome(self, state: MatchState, satisfied: int) -> MatchOutcome:
        """Outcome of an event in a state. The bits of ``satisfied`` tell which tests the event
        passes.
        """
        known = state.outcomes.get(satisfied)
        if known is None:
            true = {
                id(test.condition): bool(satisfied >> bit & 1)
                for bit, test in enumerate(state.tests)
            }
            known = state.outcomes[satisfied] = self._outcome(state, true)
        return known

    def _outcome(self, state: MatchState, true: dict[int, bool]) -> MatchOutcome:
        def any_true(guards: tuple[Guard, ...]) -> bool:
            return bool(guards) and any(true[id(guard.condition)] for guard in guards)

        def fits(target: PatternPosition) -> bool:
            return target.condition is None or true[id(target.condition)]

        def accepts(target: PatternPosition) -> bool:
            return fits(target) and not any_true(target.refused)

        def is_closed(transition: Transition) -> bool:
            if any_true(transition.unless) or any_true(transition.until):
                return True
            if not any_true(transition.not_next):
                return False
            return not (
                transition.greedy and transition.target is not None and accepts(transition.target)
            )

        open_transitions = [
            transition for transition in state.transitions if not is_closed(transition)
        ]
        accepted = {
            w.target for w in open_transitions if w.target is not None and accepts(w.target)
        }
        taken: dict[PatternPosition, MatchState] = {}
        staying: list[Transition] = []
        finished = False
        for transition in open_transitions:
            if accepted.intersection(transition.yields_to):
                continue
            if transition.target is None:
                finished = finished or not transition.pending
                staying += [transition.after_waiting()] if transition.pending else []
            elif transition.target in accepted:
                taken[transition.target] = self.after(transition.target)
                staying += (
                    [transition.after_waiting()] if transition.contiguity is Contiguity.ANY else []
                )
            elif transition.contiguity is Contiguity.ANY or not (
                transition.contiguity is Contiguity.STRICT or fits(transition.target)
            ):
                staying.append(transition.after_waiting())
        remaining = self.state(state.position, tuple(staying)) if staying else None
        return MatchOutcome(tuple(taken.values()), remaining, finished)

    def _tests_of(self, transitions: Sequence[Transition]) -> tuple[NamedCondition, ...]:
        """Conditions that decide about the transitions, without duplicates."""
        tests: dict[int, NamedCondition] = {}
        for transition in transitions:
            for guard in (*transition.unless, *transition.not_next):
                self._add_test(tests, guard.condition, f"'{guard.name}' (which must not occur)")
            for guard in transition.until:
                self._add_test(tests, guard.condition, f"the end (until) of '{guard.name}'")
            if transition.target is not None:
                for guard in transition.target.refused:
                    self._add_test(tests, guard.condition, f"the end (until) of '{guard.name}'")
                if transition.target.condition is not None:
                    self._add_test(
                        tests, transition.target.condition, f"'{transition.target.name}'"
                    )
        return tuple(tests.values())

    def _add_test(
        self, tests: dict[int, NamedCondition], condition: Condition, description: str
    ) -> None:
        known = self._tests.get(id(condition))
        if known is None:
            known = NamedCondition(condition, condition.call, condition.iterative, description)
            self._tests[id(condition)] = known
        tests[id(condition)] = known


def _label(position: PatternPosition | None, transitions: tuple[Transition, ...]) -> str:
    if position is None:
        return ""
    at_first = tuple(transition for transition in position.transitions if not transition.at_once)
    if transitions == at_first:
        return position.checkpoint_name
    return _SEPARATOR.join(
        [position.checkpoint_name, *(transition.checkpoint_name for transition in transitions)]
    )
