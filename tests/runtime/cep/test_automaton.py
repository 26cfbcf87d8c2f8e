"""The automaton: what is compiled of patterns, and the names its states have in checkpoints."""

from __future__ import annotations

from typing import Any

import pytest

from millrace.common.errors import MalformedPatternError
from millrace.common.functions.pattern_conditions import condition_of
from millrace.runtime.cep.automaton import Automaton
from millrace.runtime.cep.pattern_model import (
    Contiguity,
    Event,
    EventPattern,
    Group,
    Part,
    Quantifier,
)

NOT_N = Event("n", condition_of(lambda value: value == "n", "where"), negated=True)
TWICE_OR_MORE = Quantifier(2, None)


def letter(name: str, **settings: Any) -> Event:
    return Event(name, condition_of(lambda value: value == name, "where"), **settings)


def ways(*parts: Part, within: int | None = None) -> dict[str, list[str]]:
    """Where the ways on from each position lead."""
    automaton = Automaton(EventPattern(parts, within))
    found = {
        p.label: [transition.label for transition in p.transitions] for p in automaton.positions
    }
    return {"": [transition.label for transition in automaton.start.transitions], **found}


def test_ways_lead_past_what_is_optional() -> None:
    optional = Quantifier(optional=True)
    assert ways(letter("a"), letter("b", quantifier=optional), letter("c")) == {
        "": ["a"],
        "a": ["b", "c"],
        "b": ["c"],
        "c": ["$end"],
    }
    assert ways(letter("a", quantifier=optional), letter("b"))[""] == ["a", "b"]


def test_loops() -> None:
    assert ways(letter("a", quantifier=TWICE_OR_MORE)) == {
        "": ["a"],
        "a": ["a[2]"],
        "a[2]": ["a[2]", "$end"],
    }
    assert ways(letter("a", quantifier=Quantifier(1, 3)), letter("b")) == {
        "": ["a"],
        "a": ["a[2]", "b"],
        "a[2]": ["a[3]", "b"],
        "a[3]": ["b"],
        "b": ["$end"],
    }


def test_loops_of_groups() -> None:
    group = (letter("a"), letter("b", quantifier=Quantifier(optional=True)))
    assert ways(Group(group, quantifier=TWICE_OR_MORE), letter("c")) == {
        "": ["a"],
        "a": ["b", "a[2.1]"],
        "b": ["a[2.1]"],
        "a[2.1]": ["a[2.1]", "b[2.1]", "c"],
        "b[2.1]": ["a[2.1]", "c"],
        "c": ["$end"],
    }


def test_groups_in_groups() -> None:
    inner = Group((letter("b"), letter("c")), quantifier=Quantifier(1, None))
    outer = Group((letter("a"), inner), quantifier=Quantifier(1, None))
    found = ways(outer, letter("d"))
    assert found["c"] == ["a", "b", "d"]


def test_a_group_of_optional_parts_may_be_left_out() -> None:
    optional = Quantifier(optional=True)
    group = Group(
        (letter("a", quantifier=optional), letter("b", quantifier=optional)),
        quantifier=Quantifier(1, None),
    )
    assert ways(group, letter("c")) == {
        "": ["a", "b", "c"],
        "a": ["a", "b", "c"],
        "b": ["a", "b", "c"],
        "c": ["$end"],
    }


def test_states_are_known_by_their_names_again() -> None:
    follows = Contiguity.RELAXED
    strict = letter("c", contiguity=Contiguity.STRICT)
    pattern = EventPattern(
        (letter("a"), letter("b", quantifier=Quantifier(1, 2, True), contiguity=follows), strict)
    )
    automaton = Automaton(pattern)
    state = automaton.after(automaton.positions[0])
    waited = automaton.outcome(state, 0).ignored
    assert waited is not None
    assert (state.label, waited.label) == ("a", "a\nb")
    other = Automaton(pattern)
    for label in ("a", "a\nb"):
        found = other.named(label)
        assert found is not None
        assert found.label == label
        assert other.named(label) is found
    assert other.named("x") is None
    assert other.named("a\nb\nx") is None


def test_what_waited_for_the_next_event_does_not_ask_for_it_again() -> None:
    """A pattern begun anew after a restart, too."""
    not_next = Event("n", NOT_N.condition, Contiguity.STRICT, negated=True)
    pattern = EventPattern((letter("a"), not_next, letter("b")))
    automaton = Automaton(pattern)
    waited = automaton.outcome(automaton.after(automaton.positions[0]), 0).ignored
    assert waited is not None
    restored = Automaton(pattern).named(waited.label)
    assert restored is not None
    assert restored.transitions[0].not_next == ()


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ((), "at least one event"),
        ((NOT_N,), "at least one event"),
        ((letter("a"), NOT_N), "may end in not_followed_by\\('n'\\)"),
        (
            (letter("a"), NOT_N, letter("b", quantifier=Quantifier(optional=True))),
            "may end in not_followed_by\\('n'\\)",
        ),
        ((letter("a\nb"),), "one line"),
    ],
)
def test_what_cannot_be_matched_is_refused(parts: tuple[Part, ...], said: str) -> None:
    with pytest.raises(MalformedPatternError, match=said):
        Automaton(EventPattern(parts))


def test_a_limit_in_time_makes_it_possible() -> None:
    assert ways(letter("a"), NOT_N, within=5)["a"] == ["$end"]
    limited = Event("n", NOT_N.condition, negated=True, window_time=5)
    assert ways(letter("a"), limited)["a"] == ["$end"]
