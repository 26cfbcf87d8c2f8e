"""States are known by their names again: a restart changes no partial match."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from random_patterns import patterns

from millrace.cep import Pattern
from millrace.runtime.cep.automaton import Automaton, MatchState
from millrace.runtime.cep.pattern_model import EventPattern

MOST = 300
"""So many states are looked at."""


def reachable(automaton: Automaton) -> list[MatchState]:
    """States that partial matches can come to."""
    found = {id(automaton.start): automaton.start}
    left = [automaton.start]
    while left and len(found) < MOST:
        state = left.pop()
        after: list[MatchState | None] = []
        for satisfied in range(min(2 ** len(state.tests), 64)):
            outcome = automaton.outcome(state, satisfied)
            after += [*outcome.taken, outcome.ignored]
        if state.closing is not None:
            after.append(automaton.without_closed(state, state.closing))
        for other in after:
            if other is not None and id(other) not in found:
                found[id(other)] = other
                left.append(other)
    return [state for state in found.values() if state.position is not None]


def facts(state: MatchState) -> Any:
    assert state.position is not None
    return state.position.number, [
        (transition.checkpoint_name, len(transition.not_next)) for transition in state.transitions
    ]


def check(pattern: EventPattern) -> None:
    automaton, other = Automaton(pattern), Automaton(pattern)
    states = reachable(automaton)
    assert len({state.label for state in states}) == len(states)
    for state in states:
        again = other.named(state.label)
        assert again is not None
        assert facts(again) == facts(state)


@settings(max_examples=150, deadline=None)
@given(patterns())
def test_of_any_pattern(pattern: EventPattern) -> None:
    check(pattern)


def is_a(value: str) -> bool:
    return value == "a"


@pytest.mark.parametrize(
    "pattern",
    [
        Pattern.begin(Pattern.begin("a").where(is_a).one_or_more().allow_combinations().until(is_a))
        .one_or_more()
        .followed_by("z"),
        Pattern.begin("b").times(2).followed_by("b[2]").times(2).followed_by("d"),
        Pattern.begin("s")
        .followed_by("$end")
        .where(is_a)
        .one_or_more()
        .consecutive()
        .not_followed_by("n")
        .where(is_a)
        .within(5),
    ],
    ids=["a loop in a loop", "a name with a number", "a name like the end"],
)
def test_whatever_they_are_called(pattern: Any) -> None:
    check(pattern.model())
