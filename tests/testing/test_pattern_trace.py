"""A trace tells what happened, and nothing else than the matcher does."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from millrace.cep import AfterMatchSkipStrategy, MalformedPatternError, Pattern, WithinType
from millrace.cep.rules import field_condition
from millrace.common.functions.pattern_conditions import Condition, all_of, any_of
from millrace.runtime.cep.automaton import Automaton
from millrace.runtime.cep.pattern_model import Contiguity, Event, EventPattern, Group, Quantifier
from millrace.testing import Trace, match, trace
from millrace.testing.transition_verdict import Verdict


def letter(wanted: str) -> Any:
    return lambda value: value[0] == wanted


def begin(name: str = "a", **skip: Any) -> Pattern:
    return Pattern.begin(name, **skip).where(letter(name))


def verdicts(told: Trace, number: int) -> list[tuple[str, Verdict]]:
    """Verdicts on attempts that had begun before."""
    return [(a.target, a.verdict) for a in told.attempts(number) if a.taken]


def test_which_part_of_a_condition_failed() -> None:
    large = lambda value: value[1] > "5"  # noqa: E731
    told = trace(begin().next("b").where(letter("b")).where(large), ["a1", "b3"])
    [attempt] = [attempt for attempt in told.attempts(1) if attempt.taken]
    assert (attempt.taken, attempt.target) == ((("a", 0),), "b")
    assert attempt.verdict is Verdict.STRICT
    [check] = attempt.because
    assert (check.condition.source, check.result) == (large, False)


def test_what_does_not_matter_is_not_asked() -> None:
    long, second = lambda value: len(value) > 1, lambda value: value[1] == "1"
    [attempt] = trace(Pattern.begin("a").where(long).where(second), ["a"]).attempts(0)
    assert [(check.condition.source, check.result) for check in attempt.because] == [(long, False)]
    [attempt] = trace(Pattern.begin("a").where(letter("a")).or_(second), ["a"]).attempts(0)
    assert attempt.verdict is Verdict.TAKEN


def test_an_or_failed_in_all_its_parts() -> None:
    told = trace(Pattern.begin("a").where(letter("a")).or_(letter("b")), ["x1"])
    [attempt] = told.attempts(0)
    assert [check.result for check in attempt.because] == [False, False]


def test_conditions_that_are_data_have_parts_too() -> None:
    both = field_condition(
        {
            "and": [
                {"field": "kind", "op": "==", "value": "b"},
                {"field": "amount", "op": ">", "value": 5},
            ]
        }
    )
    told = trace(Pattern.begin("b").where(both), [{"kind": "b", "amount": 3}])
    assert "start -> b: not taken; amount > 5 is false" in str(told)


def test_passing_over_and_combining() -> None:
    pattern = begin().followed_by("b").where(letter("b"))
    assert verdicts(trace(pattern, ["a1", "x2", "b3"]), 1) == [("b", Verdict.PASSED)]
    combined = begin().followed_by_any("b").where(letter("b"))
    told = trace(combined, ["a1", "b2", "b3"])
    assert verdicts(told, 1) == [("b", Verdict.TAKEN_AND_PASSED)]
    assert [step.found for step in told.steps][1:] == [
        [(("a", 0), ("b", 1))],
        [(("a", 0), ("b", 2))],
    ]


def test_what_closes_a_way_is_named() -> None:
    guarded = begin().not_followed_by("n").where(letter("n")).followed_by("b").where(letter("b"))
    [attempt] = [a for a in trace(guarded, ["a1", "n2", "b3"]).attempts(1) if a.taken]
    assert (attempt.verdict, attempt.by) == (Verdict.NOT_FOLLOWED_BY, "n")
    next_to = begin().not_next("n").where(letter("n")).followed_by("b").where(letter("b"))
    told = trace(next_to, ["a1", "n2", "a3", "x4", "n5", "b6"])
    assert verdicts(told, 1) == [("b", Verdict.NOT_NEXT)]
    assert verdicts(told, 4) == [("b", Verdict.PASSED)]
    assert told.matches == [{"a": ["a3"], "b": ["b6"]}]


def test_loops_end_by_until_and_by_greed() -> None:
    looped = begin().one_or_more().until(letter("u")).followed_by("b").where(letter("b"))
    assert verdicts(trace(looped, ["a1", "u2", "b3"]), 1) == [
        ("a", Verdict.UNTIL),
        ("b", Verdict.PASSED),
    ]
    greedy = begin().one_or_more().greedy().followed_by("b")
    told = trace(greedy, ["a1", "a2"])
    assert verdicts(told, 1) == [("a", Verdict.TAKEN), ("b", Verdict.GREEDY)]
    assert [a.by for a in told.attempts(1)][1] == "a"
    # what is no "a" is the next one
    assert verdicts(trace(greedy, ["a1", "x2"]), 1) == [
        ("a", Verdict.PASSED),
        ("b", Verdict.TAKEN),
    ]


def test_what_a_greedy_loop_takes_though_it_is_forbidden_behind_it() -> None:
    greedy = begin().one_or_more().greedy().not_next("n").where(letter("a"))
    told = trace(greedy, ["a1", "a2"])
    assert verdicts(told, 1) == [("a", Verdict.TAKEN), ("$end", Verdict.NOT_NEXT)]
    assert [a.by for a in told.attempts(1)][:2] == ["", "n"]


def test_an_event_that_ends_the_wait_for_a_loop() -> None:
    loop = begin().followed_by("b").where(letter("b")).one_or_more()
    loop = loop.until(lambda value: "u" in value)
    told = trace(loop, ["a1", "bu"])
    assert verdicts(told, 1) == [("b", Verdict.UNTIL)]
    assert next(a.by for a in told.attempts(1)) == "b"
    assert verdicts(trace(loop, ["a1", "u"]), 1) == [("b", Verdict.PASSED)]


def test_of_several_greedy_loops_that_is_named_which_took_it() -> None:
    is_b = Condition(letter("b"))
    greedy, maybe = Quantifier(1, None, greedy=True), Quantifier(optional=True, greedy=True)
    parts = Event("a", CONDITIONS["a"], quantifier=greedy), Event("b", is_b, quantifier=maybe)
    told = trace(EventPattern((*parts, Event("c"))), ["a", "b"])
    assert [(a.target, a.by) for a in told.attempts(1) if a.taken] == [
        ("a", ""),
        ("b", ""),
        ("c", "b"),
    ]


def test_a_match_that_waited_for_another_event() -> None:
    told = trace(begin().not_next("n").where(letter("n")), ["a1", "x2"])
    assert verdicts(told, 1) == [("$end", Verdict.FOUND)]
    assert told.steps[1].found == [(("a", 0),)]


def test_time_has_its_own_steps() -> None:
    told = trace(begin().next("b").within(5), ["a1", "x2"], timestamps=[0, 7], watermark=20)
    [by_time] = [step for step in told.steps if step.event is None]
    assert (by_time.timestamp, by_time.timed_out) == (5, [(("a", 0),)])
    assert [step.timestamp for step in told.steps] == [0, 5, 7]


def test_a_way_whose_own_time_is_over() -> None:
    pattern = begin().followed_by("b").where(letter("b")).optional()
    pattern = pattern.within(3, WithinType.PREVIOUS_AND_CURRENT).followed_by("c").where(letter("c"))
    told = trace(pattern, ["a1", "c2"], timestamps=[0, 10])
    assert [(s.timestamp, s.closed) for s in told.steps if s.closed] == [(3, [((("a", 0),), "b")])]
    assert told.matches == [{"a": ["a1"], "c": ["c2"]}]


def test_a_skip_strategy_holds_back_and_takes_away() -> None:
    skip = AfterMatchSkipStrategy.skip_past_last_event()
    pattern = begin(after_match_skip_strategy=skip).times_or_more(2).within(5)
    told = trace(pattern, ["a1", "a2"], timestamps=[0, 1])
    [pruned] = {(p.taken, p.match) for step in told.steps for p in step.pruned if p.taken[0][1]}
    assert pruned == ((("a", 1),), (("a", 0), ("a", 1)))


def test_a_match_that_is_held_back() -> None:
    """The one that began first may still come to its end."""
    same_number = lambda value, ctx: value[1] == ctx.get_events_for_pattern("a")[0][1]  # noqa: E731
    skip = AfterMatchSkipStrategy.skip_past_last_event()
    pattern = begin(after_match_skip_strategy=skip).followed_by("c").where(same_number).within(5)
    second = (("a", 1), ("c", 2))
    wins = trace(pattern, ["a1", "a2", "c2", "c1"])
    assert wins.steps[2].held_back == [second]
    assert [(p.taken, p.match) for p in wins.steps[3].pruned] == [(second, (("a", 0), ("c", 3)))]
    loses = trace(pattern, ["a1", "a2", "c2"])
    by_time = loses.steps[-1]
    assert (by_time.timestamp, by_time.timed_out) == (5, [(("a", 0),)])
    assert by_time.found == [second]


def test_it_is_readable() -> None:
    pattern = Pattern.begin("small").where(lambda value: value < 10)
    pattern = pattern.followed_by("large").where(lambda value: value > 100).within(1_000)
    told = trace(pattern, [5, 50, 500, 7], timestamps=[0, 100, 200, 300])
    assert (
        str(told)
        == """\
#0 at 0 ms: 5
    start -> small: taken
#1 at 100 ms: 50
    small #0 -> large: passed over; value > 100 is false
    start -> small: not taken; value < 10 is false
#2 at 200 ms: 500
    small #0 -> large: taken
    start -> small: not taken; value < 10 is false
    match: small #0, large #2
#3 at 300 ms: 7
    start -> small: taken
at 1300 ms
    timed out: small #3
1 match, 1 timed out"""
    )


def test_keys_and_dates_are_shown() -> None:
    told = trace(begin(), ["a1"], timestamps=[1_372_680_000_000], key=lambda value: value[1])
    assert str(told).startswith("#0 at 2013-07-01 12:00:00 ['1']: 'a1'\n")
    assert told.text(str.upper).startswith("#0 at 2013-07-01 12:00:00 ['1']: A1\n")


def test_what_a_condition_knows_from_around_it_is_shown() -> None:
    assert "value[0] == 'a' is false" in str(trace(begin(), ["x1"]))

    def one_of(wanted: tuple[str, ...]) -> Pattern:
        return Pattern.begin("a").where(lambda value: value in wanted)

    assert "value in wanted [wanted=('a', 'b')] is false" in str(trace(one_of(("a", "b")), ["x"]))


# -- it agrees with the matcher ------------------------------------------------------------------

CONDITIONS = {
    text: Condition(lambda value, text=text: value in text, text=text)
    for text in ("a", "b", "c", "ab", "bc", "abc")
}
CONDITIONS["a or c"] = any_of(CONDITIONS["a"], CONDITIONS["c"])
CONDITIONS["bc and ab"] = all_of(CONDITIONS["bc"], CONDITIONS["ab"])
QUANTIFIERS = st.builds(
    Quantifier,
    least=st.integers(1, 2),
    most=st.sampled_from([2, 3, None]),
    optional=st.booleans(),
    greedy=st.booleans(),
    inner=st.sampled_from(Contiguity),
    until=st.sampled_from([None, None, CONDITIONS["c"]]),
)


@st.composite
def patterns(draw: Any, skips: Any) -> EventPattern:
    names = iter("pqrstuvw")

    def event(negated: bool = False) -> Event:
        contiguity = draw(st.sampled_from([*Contiguity][: 2 if negated else 3]))
        once = negated or draw(st.booleans())
        return Event(
            next(names),
            draw(st.sampled_from([None, *CONDITIONS.values()])),
            contiguity,
            negated,
            Quantifier() if once else draw(QUANTIFIERS),
            None if negated else draw(st.sampled_from([None, None, 2])),
        )

    parts: list[Any] = [event()]
    for _ in range(draw(st.integers(1, 2))):
        if draw(st.booleans()):
            parts.append(event(negated=True))
        if draw(st.integers(0, 3)):
            parts.append(event())
        else:
            quantifier = replace(draw(QUANTIFIERS), greedy=False)
            parts.append(Group((event(), event()), draw(st.sampled_from(Contiguity)), quantifier))
    return EventPattern(tuple(parts), draw(st.sampled_from([None, 3, 5])), draw(skips))


SKIPS = st.sampled_from(
    [
        AfterMatchSkipStrategy.no_skip(),
        AfterMatchSkipStrategy.skip_to_next(),
        AfterMatchSkipStrategy.skip_past_last_event(),
        AfterMatchSkipStrategy.skip_to_last("p"),
    ]
)
LETTERS = st.lists(st.sampled_from("abcx"), max_size=7)


def well_formed(pattern: EventPattern) -> bool:
    try:
        Automaton(pattern)
    except MalformedPatternError:
        return False
    return True


@settings(max_examples=100)
@given(patterns(SKIPS), LETTERS)
def test_it_finds_what_match_finds(pattern: EventPattern, events: list[str]) -> None:
    assume(well_formed(pattern))
    told, found = trace(pattern, events), match(pattern, events)
    assert told.result == found
    counted = [sum(len(column) for column in columns) for columns in (
        (step.found for step in told.steps), (step.timed_out for step in told.steps)
    )]  # fmt: skip
    assert counted == [len(found.matches), len(found.timed_out)]


@settings(max_examples=150)
@given(patterns(st.just(AfterMatchSkipStrategy.no_skip())), LETTERS)
def test_its_verdicts_make_the_matches(pattern: EventPattern, events: list[str]) -> None:
    """What one event leaves, by the verdicts, is what the matcher asks the next event about."""
    assume(well_formed(pattern))
    told = trace(pattern, events, timestamps=[0] * len(events), watermark=0)
    for number in range(len(events)):
        stays, takes, finished = set(), set(), set()
        for attempt in told.attempts(number):
            if attempt.verdict in (Verdict.PASSED, Verdict.TAKEN_AND_PASSED):
                stays.add(attempt.taken)
            if attempt.verdict in (Verdict.TAKEN, Verdict.TAKEN_AND_PASSED):
                name = attempt.target.partition("[")[0]
                takes.add((*attempt.taken, (name, number)))
            if attempt.verdict is Verdict.FOUND:
                finished.add(attempt.taken)
        [step] = [s for s in told.steps if s.event is not None and s.event.number == number]
        assert finished <= set(step.found) <= finished | takes
        if number + 1 < len(events):
            left = {attempt.taken for attempt in told.attempts(number + 1)} - {()}
            assert stays - {()} <= left <= stays | takes
            assert takes <= left | set(step.found)


@pytest.mark.parametrize("time", [10**15, -(10**15), 2**62])
def test_times_without_a_date_are_numbers(time: int) -> None:
    assert f"#0 at {time} ms: 'a1'" in str(trace(begin(), ["a1"], timestamps=[time]))
