"""The matcher by itself; what it finds is held against a model in tests/cep."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millrace.common.errors import JobExecutionError
from millrace.common.functions.pattern_conditions import condition_of
from millrace.runtime.cep import partial_match
from millrace.runtime.cep.after_match_skip_strategy import AfterMatchSkipStrategy
from millrace.runtime.cep.automaton import Automaton
from millrace.runtime.cep.matcher import Matcher
from millrace.runtime.cep.partial_match import FoundMatch, KeyMatches, events_of
from millrace.runtime.cep.pattern_model import (
    Contiguity,
    Event,
    EventPattern,
    Group,
    Quantifier,
)

LOOP = Quantifier(1, None)


def letter(name: str, **settings: Any) -> Event:
    return Event(name, condition_of(lambda value: value[0] == name, "where"), **settings)


class Run:
    """Feeds events at times 0, 1, 2, ..."""

    def __init__(self, *parts: Event, **settings: Any) -> None:
        self.matcher = Matcher(Automaton(EventPattern(parts, **settings)))
        self.key = KeyMatches()
        self.found: list[str] = []
        self.timed_out: list[str] = []

    def feed(self, text: str) -> list[str]:
        for time, value in enumerate(text.split()):
            self.advance(time)
            self.found += map(_text, self.matcher.process(self.key.of(""), self.event(time, value)))
        return self.found

    def event(self, time: int, value: str) -> Any:
        return self.key.next_event(time, value)

    def advance(self, time: int) -> None:
        found, timed_out = self.matcher.advance_time(self.key.of(""), time)
        self.found += [f"{_text(match)} @{match.time}" for match in found]
        self.timed_out += [f"{_text(match)} @{match.time}" for match in timed_out]


def _text(match: Any) -> str:
    return " ".join(entry.event.value for entry in match.entries())


def test_a_match_waits_for_one_that_began_earlier() -> None:
    skip = AfterMatchSkipStrategy.skip_past_last_event()
    run = Run(letter("a"), letter("b"), letter("c"), skip=skip)
    parts = (letter("x", quantifier=LOOP), letter("y"))
    assert run.feed("a1 b1 a2 c1 b2 c2") == ["a1 b1 c1"]
    assert Run(*parts, skip=skip).feed("x1 y1 x2 y2") == ["x1 y1", "x2 y2"]


def same_number(value: str, ctx: Any) -> bool:
    """A 'b' with the number of the 'a'."""
    return value == "b" + ctx.get_events_for_pattern("a")[0][1]


ANSWER = Event("b", condition_of(same_number, "where"))


def test_time_lets_go_a_match_that_is_held_back() -> None:
    skip = AfterMatchSkipStrategy.skip_past_last_event()
    run = Run(letter("a"), ANSWER, skip=skip, within=4)
    assert run.feed("a1 a2 b2 x") == []
    run.advance(4)
    assert (run.found, run.timed_out) == (["a2 b2 @4"], ["a1 @4"])


def test_what_waits_for_the_end_of_time_is_found_then() -> None:
    quiet = Event("n", letter("n").condition, negated=True)
    run = Run(letter("a"), quiet, within=3)
    run.feed("a1 n a2 b")
    run.advance(10)
    assert run.found == ["a2 @5"]
    assert run.timed_out == []


def test_what_time_finds_takes_away_what_it_would_end_later() -> None:
    """However far time goes at once."""
    quiet = Event("n", letter("n").condition, negated=True)
    skip = AfterMatchSkipStrategy.skip_past_last_event()
    for steps in ([10], [4, 10]):
        run = Run(letter("a"), ANSWER, quiet, within=4, skip=skip)
        run.feed("a1 a2 b1")
        for time in steps:
            run.advance(time)
        assert (run.found, run.timed_out) == (["a1 b1 @4"], [])


def test_ways_close_one_by_one() -> None:
    soon = letter("b", window_time=2, quantifier=Quantifier(optional=True))
    run = Run(letter("a"), soon, letter("c", window_time=4))
    assert run.feed("a1 x x b1 c1") == []
    assert run.timed_out == ["a1 @4"]
    assert Run(letter("a"), soon, letter("c", window_time=4)).feed("a1 x x c1") == ["a1 c1"]
    assert Run(letter("a"), soon, letter("c", window_time=4)).feed("a1 b1 c1") == [
        "a1 b1 c1",
        "a1 c1",
    ]


def test_it_is_an_error_to_miss_what_is_skipped_to() -> None:
    skip = AfterMatchSkipStrategy.skip_to_first("b").throw_exception_on_miss()
    optional = letter("b", quantifier=Quantifier(optional=True))
    run = Run(letter("a"), optional, letter("c"), skip=skip)
    with pytest.raises(JobExecutionError, match="no event of 'b', to which"):
        run.feed("a c")
    begins = AfterMatchSkipStrategy.skip_to_first("a").throw_exception_on_miss()
    with pytest.raises(JobExecutionError, match="nothing would be skipped"):
        Run(letter("a"), letter("c"), skip=begins).feed("a c")


def test_conditions_see_what_was_taken() -> None:
    def rising(value: str, ctx: Any) -> bool:
        before = ctx.get_events_for_pattern("up")
        return value[0] == "u" and (not before or value > before[-1]) and ctx.timestamp() >= 0

    up = Event("up", condition_of(rising, "where"), quantifier=LOOP)
    end = letter("e", contiguity=Contiguity.STRICT)
    assert Run(up, end).feed("u1 u3 u2 e") == ["u2 e"]
    up = Event("up", up.condition, quantifier=Quantifier(1, None, inner=Contiguity.ANY))
    assert Run(up, end).feed("u1 u3 u2 e") == ["u1 u2 e", "u2 e"]


def test_what_must_not_occur_ends_a_match_between_occurrences_too() -> None:
    never = Event("n", letter("n").condition, negated=True)
    twice = letter("a", quantifier=Quantifier(2, 2))
    assert Run(twice, never, letter("c")).feed("a1 n a2 c") == []
    not_next = Event("n", letter("n").condition, Contiguity.STRICT, negated=True)
    assert Run(twice, not_next, letter("c")).feed("a1 n a2 c") == ["a1 a2 c"]


LETTERS = st.lists(st.sampled_from("abxy"), min_size=6, max_size=14)


@settings(max_examples=150, deadline=None)
@given(LETTERS, st.sampled_from(["loop", "ended", "group", "any"]))
def test_events_of_matches_found_together_are_slices_of_chains(letters: Any, kind: str) -> None:
    """They are what each match says of itself, and lists of its own."""
    loop = letter("a", quantifier=LOOP)
    group = Group((letter("x"), letter("y", quantifier=LOOP)), quantifier=LOOP)
    parts = {
        "loop": (loop,),
        "ended": (loop, letter("b")),
        "group": (loop, group),
        "any": (letter("a", quantifier=Quantifier(1, 3)), Event("z", quantifier=LOOP), letter("b")),
    }[kind]
    run = Run(*parts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(partial_match, "WORTH_A_CHAIN", 2)
        _check_events_of(run, letters)


def _check_events_of(run: Run, letters: list[str]) -> None:
    for time, name in enumerate(letters):
        found = run.matcher.process(run.key.of(""), run.event(time, f"{name}{time}"))
        for matches in (found, found[::-1]):
            together = list(events_of(matches))
            assert together == [match.events() for match in matches]
            assert [list(events) for events in together] == [list(m.events()) for m in matches]
            for events in together:
                for values in events.values():
                    values.clear()


def test_what_is_taken_alike_is_one_entry() -> None:
    greedy = letter("a", quantifier=Quantifier(1, None, greedy=True))
    run = Run(greedy, letter("b"))
    run.feed("a1 a2 x a3")
    partial = run.key.of("").partial
    assert [_text(FoundMatch(match.last, match.start, 0)) for match in partial] == [
        "a1 a2 a3",
        "a2 a3",
        "a3",
    ]
    assert len({id(match.last) for match in partial}) == 1
