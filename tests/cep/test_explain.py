"""Patterns explained: every state, every way on, and what closes it."""

from __future__ import annotations

import pytest

from millrace.cep import AfterMatchSkipStrategy, MalformedPatternError, Pattern, WithinType


def explained(pattern: Pattern) -> list[str]:
    return pattern.explain().splitlines()


def test_a_chain() -> None:
    pattern = Pattern.begin("a").where(lambda value: value < 3).next("b").followed_by_any("c")
    assert explained(pattern) == [
        "begin",
        "  -> a",
        "a: value < 3",
        "  -> b  next: the next event",
        "b: any event",
        "  -> c  followed_by_any: any later such event",
        "c: any event",
        "  -> match",
        "after a match: no_skip",
    ]


def test_a_loop_that_ends_and_what_must_not_come_behind_it() -> None:
    pattern = Pattern.begin("a").one_or_more().greedy().until(lambda value: value == 0)
    pattern = pattern.not_next("n").where(lambda value: value < 0).followed_by("c")
    pattern = pattern.not_followed_by("d").followed_by("e")
    assert explained(pattern)[2:7] == [
        "a: any event, not if value == 0",
        "  -> a  followed_by: the next such event, unless n (value < 0) comes immediately, until "
        "value == 0",
        "  -> c  followed_by: the next such event, unless n (value < 0) comes immediately, only "
        "what a does not take",
        "c: any event",
        "  -> e  followed_by: the next such event, unless d (any event) comes before",
    ]


def test_ends_that_wait() -> None:
    over_time = Pattern.begin("a").not_followed_by("b").within(90_000)
    assert explained(over_time)[3:5] == [
        "  -> match  when time is over, unless b (any event) comes before",
        "from the first event to the last: less than 90 s",
    ]
    at_next = Pattern.begin("a").not_next("b")
    assert explained(at_next)[3] == (
        "  -> match  at the next event, unless b (any event) comes immediately"
    )


def test_occurrences_are_told_apart_and_aligned() -> None:
    pattern = Pattern.begin("a").times(1, 2).allow_combinations().followed_by("long_name")
    assert explained(pattern)[2:7] == [
        "a: any event",
        "  -> a[2]       followed_by_any: any later such event",
        "  -> long_name  followed_by: the next such event",
        "a[2]: any event",
        "  -> long_name  followed_by: the next such event",
    ]


def test_limits_and_skipping() -> None:
    skip = AfterMatchSkipStrategy.skip_to_last("b")
    pattern = Pattern.begin("a", skip).next("b").within(500, WithinType.PREVIOUS_AND_CURRENT)
    lines = explained(pattern.within(7_200_000))
    assert lines[3] == "  -> b  next: the next event, less than 500 ms later"
    assert lines[-2:] == [
        "from the first event to the last: less than 2 h",
        "after a match: skip_to_last b",
    ]


def test_a_miss_that_is_an_error() -> None:
    skip = AfterMatchSkipStrategy.skip_to_first("a").throw_exception_on_miss()
    assert explained(Pattern.begin("a", skip))[-1] == (
        "after a match: skip_to_first a, an error if there is none to skip to"
    )


def test_what_closes_the_ways_from_the_beginning() -> None:
    """But not how long after the event before: there is none."""
    pattern = Pattern.begin("a").one_or_more().optional().greedy().followed_by("b")
    assert explained(pattern.within(10, WithinType.PREVIOUS_AND_CURRENT))[:3] == [
        "begin",
        "  -> a",
        "  -> b  only what a does not take",
    ]
    near = Pattern.begin("a").within(10, WithinType.PREVIOUS_AND_CURRENT)
    assert explained(near)[1] == "  -> a"


def test_nothing_closes_the_way_to_a_match_that_is_found_at_once() -> None:
    pattern = Pattern.begin("a").one_or_more().greedy()
    assert explained(pattern)[2:5] == [
        "a: any event",
        "  -> a      followed_by: the next such event",
        "  -> match",
    ]


def test_it_reads_well_without_print() -> None:
    explanation = Pattern.begin("a").explain()
    assert repr(explanation) == str(explanation)
    assert "\n" in repr(explanation)


def test_what_is_refused_is_not_explained() -> None:
    with pytest.raises(MalformedPatternError, match="never ends"):
        Pattern.begin("a").not_followed_by("b").explain()
