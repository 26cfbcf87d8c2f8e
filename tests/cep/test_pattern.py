"""Patterns said part by part, and the plain data that comes of them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from millrace.cep import AfterMatchSkipStrategy, Pattern, SimpleCondition, WithinType
from millrace.common.time import Duration, Time
from millrace.runtime.cep.pattern_model import Contiguity, Event, Group, Quantifier
from millrace.testing import match
from millrace.testing.pattern_run import PatternMatch


def shape(pattern: Pattern) -> list[tuple[str, str, bool]]:
    return [(e.name, e.contiguity.value, e.negated) for e in pattern.model().events()]


def test_the_words_between_parts() -> None:
    pattern = (
        Pattern.begin("a").next("b").followed_by("c").followed_by_any("d").not_next("e")
    ).not_followed_by("f")
    assert shape(pattern.next("g")) == [
        ("a", "followed_by", False),
        ("b", "next", False),
        ("c", "followed_by", False),
        ("d", "followed_by_any", False),
        ("e", "next", True),
        ("f", "followed_by", True),
        ("g", "next", False),
    ]


def test_changes_are_to_the_last_part_and_it_is_handed_back() -> None:
    first = Pattern.begin("a")
    second = first.next("b")
    for said in (
        second.where(lambda value: True),
        second.or_(lambda value: False),
        second.subtype(int),
        second.one_or_more(),
        second.until(lambda value: False),
        second.greedy(),
        second.consecutive(),
        second.optional(),
        second.within(5),
    ):
        assert said is second
    assert first.get_quantifier() == Quantifier()
    assert first.get_condition() is None
    assert second.get_previous() is first


@pytest.mark.parametrize(
    ("said", "quantifier"),
    [
        (lambda p: p, Quantifier()),
        (lambda p: p.optional(), Quantifier(optional=True)),
        (lambda p: p.times(4), Quantifier(4, 4)),
        (lambda p: p.times(2, 4), Quantifier(2, 4)),
        (lambda p: p.times(0, 4), Quantifier(1, 4, optional=True)),
        (lambda p: p.times(1), Quantifier(1, 1)),
        (lambda p: p.times_or_more(2).optional(), Quantifier(2, None, optional=True)),
        (lambda p: p.one_or_more().optional().greedy(), Quantifier(1, None, True, True)),
        (lambda p: p.optional().times(2), Quantifier(2, 2, optional=True)),
        (lambda p: p.times(2).consecutive(), Quantifier(2, 2, inner=Contiguity.STRICT)),
        (lambda p: p.times(2).allow_combinations(), Quantifier(2, 2, inner=Contiguity.ANY)),
    ],
)
def test_how_often(said: Any, quantifier: Quantifier) -> None:
    pattern = said(Pattern.begin("start").next("a"))
    assert pattern.get_quantifier() == quantifier
    assert pattern.model().parts[1].quantifier == quantifier


def test_conditions_are_joined_in_the_order_they_are_said() -> None:
    pattern = Pattern.begin("a").where(lambda value: value > 2).where(lambda value: value < 8)
    pattern.or_(lambda value: value == 100).subtype(int)
    condition = pattern.get_condition()
    assert condition is not None
    assert [v for v in (1, 3, 7, 8, 100, 5.5) if condition.call(v)] == [3, 7, 100]


def test_a_subtype_guards_the_conditions_after_it() -> None:
    pattern = Pattern.begin("a").subtype(str).where(lambda value: value.startswith("x"))
    condition = pattern.get_condition()
    assert condition is not None
    assert [v for v in (1, "xy", "yx") if condition.call(v)] == ["xy"]
    assert [leaf.text for leaf in condition.leaves()] == ["is of class str", ""]


def test_a_condition_may_be_an_object_or_see_the_context() -> None:
    pattern = Pattern.begin("a").where(SimpleCondition.of(lambda value: value > 2))
    condition = pattern.where(lambda value, ctx: value in ctx).get_condition()
    assert condition is not None
    assert condition.iterative
    assert [v for v in (1, 3, 4) if condition.call(v, [1, 3])] == [3]


def test_groups_are_parts() -> None:
    pair = Pattern.begin("b").next("c").times(2)
    pattern = Pattern.begin("a").followed_by_any(pair).one_or_more().consecutive().next("d")
    group = pattern.model().parts[1]
    assert isinstance(group, Group)
    assert [e.name for e in group.parts if isinstance(e, Event)] == ["b", "c"]
    assert group.parts[1].quantifier == Quantifier(2, 2)
    assert group.contiguity is Contiguity.ANY
    assert group.quantifier == Quantifier(1, None, inner=Contiguity.STRICT)


def test_a_group_may_begin_and_hold_groups() -> None:
    inner = Pattern.begin(Pattern.begin("a").next("b")).times(2).followed_by("c")
    model = Pattern.begin(inner, AfterMatchSkipStrategy.skip_to_last("b")).optional().model()
    (outer,) = model.parts
    assert isinstance(outer, Group)
    assert isinstance(outer.parts[0], Group)
    assert [e.name for e in model.events()] == ["a", "b", "c"]
    assert model.skip.pattern_name == "b"


def test_the_least_of_several_limits_counts() -> None:
    group = Pattern.begin("b").within(Time.seconds(3)).next("c").within(Duration.of_seconds(9))
    pattern = Pattern.begin("a").within(timedelta(seconds=5)).next(group).within(7_000)
    assert pattern.get_window_time() == 7_000
    assert pattern.model().within == 3_000


def test_the_limit_between_events_is_the_part_s_own() -> None:
    pattern = Pattern.begin("a").next("b").within(50, WithinType.PREVIOUS_AND_CURRENT)
    pattern = pattern.next(Pattern.begin("c")).within(60, WithinType.PREVIOUS_AND_CURRENT)
    model = pattern.within(100).model()
    assert [part.window_time for part in model.parts] == [None, 50, 60]
    assert model.within == 100
    assert pattern.get_window_time(WithinType.PREVIOUS_AND_CURRENT) == 60


def test_two_patterns_may_begin_alike() -> None:
    start = Pattern.begin("a").where(lambda value: value == 1)
    strict = start.next("b").one_or_more().within(10)
    relaxed = start.followed_by("b").optional()
    assert shape(strict)[1] == ("b", "next", False)
    assert shape(relaxed)[1] == ("b", "followed_by", False)
    assert strict.model().parts[1].quantifier == Quantifier(1, None)
    assert relaxed.model().parts[1].quantifier == Quantifier(optional=True)
    assert relaxed.model().within is None
    assert start.model().parts == strict.model().parts[:1]


def test_a_model_is_not_changed_by_what_is_said_later() -> None:
    pattern = Pattern.begin("a")
    before = pattern.model()
    pattern.where(lambda value: True).one_or_more().within(5)
    assert before.parts == (Event("a"),)
    assert before.within is None
    assert pattern.model() != before


def test_the_skip_strategy_is_known_to_every_part() -> None:
    skip = AfterMatchSkipStrategy.skip_to_next()
    pattern = Pattern.begin("a", skip).next("b").next(Pattern.begin("c")).not_next("d").next("e")
    assert pattern.get_after_match_skip_strategy() == skip
    assert pattern.model().skip == skip


def test_a_pattern_reads_like_its_program() -> None:
    group = Pattern.begin("b").not_followed_by("c").next("d")
    pattern = Pattern.begin("a").followed_by_any(group).not_next("e")
    assert repr(pattern) == (
        "Pattern.begin('a').followed_by_any("
        "Pattern.begin('b').not_followed_by('c').next('d')).not_next('e')"
    )


def test_whole_numbers_of_every_kind() -> None:
    """NumPy's are no ``int``, but `operator.index` makes one of them."""

    class Whole:
        def __init__(self, number: int) -> None:
            self.number = number

        def __index__(self) -> int:
            return self.number

    pattern: Any = Pattern.begin("a")
    pattern = pattern.times(Whole(0), Whole(2)).within(Whole(10))
    quantifier = pattern.get_quantifier()
    assert (quantifier.optional, quantifier.most, pattern.get_window_time()) == (True, 2, 10)
    assert {type(quantifier.most), type(pattern.get_window_time())} == {int}


def test_a_group_that_can_be_empty_may_follow_and_be_followed_by_what_must_occur() -> None:
    """What is refused behind it is only what must not occur."""
    empty = Pattern.begin("b").optional()
    pattern = Pattern.begin("a").next(empty).next("c").not_next("d").next("e")
    assert [event.name for event in pattern.model().events()] == ["a", "b", "c", "d", "e"]
    not_empty = Pattern.begin(Pattern.begin("g").optional().next("h")).not_next("b")
    assert not_empty.model().parts[1].negated


def found(pattern: Pattern, *events: str) -> list[str]:
    """What matches, of events such as ``a15``: an ``a`` at 15 ms."""
    times = [int(event[1:]) for event in events]
    matches = match(pattern, events, timestamps=times).matches
    return [" ".join(event for taken in m.values() for event in taken) for m in matches]


def is_a(letter: str) -> Callable[[str], bool]:
    return lambda value: value[0] == letter


@pytest.mark.parametrize(
    "repeat",
    [
        lambda part: part.times(2, Time.milliseconds(10)),
        lambda part: part.times(2, timedelta(milliseconds=10)),
        lambda part: part.times(2, window_time=10),
        lambda part: part.times(2, 2, Duration.of_millis(10)),
        lambda part: part.times_or_more(2, 10),
    ],
)
def test_a_time_between_the_occurrences_of_a_part(repeat: Callable[[Pattern], Pattern]) -> None:
    """Flink: ``times(2, Duration)``. It says nothing of the event before the first."""
    pattern = repeat(Pattern.begin("a").where(is_a("a")).followed_by("b").where(is_a("b")))
    assert found(pattern, "a0", "b50", "b59") == ["a0 b50 b59"]
    assert found(pattern, "a0", "b50", "b60") == []


def test_a_loop_whose_time_is_over_may_still_be_left() -> None:
    loop = Pattern.begin("b").where(is_a("b")).one_or_more(Time.milliseconds(10))
    pattern = loop.greedy().followed_by("c").where(is_a("c"))
    assert found(pattern, "b0", "b9", "b19", "c99") == ["b0 b9 c99", "b9 c99", "b19 c99"]
    assert match(loop, ["b0"], timestamps=[0]).over == [PatternMatch({"b": ["b0"]}, 10)]


@pytest.mark.parametrize("most", [2, None])
def test_a_time_between_the_occurrences_of_a_group(most: int | None) -> None:
    """From the last event of one to the first of the next, not within one."""
    pair = Pattern.begin(Pattern.begin("a").where(is_a("a")).next("b").where(is_a("b")))
    pattern = pair.times(2, most, 10) if most else pair.times_or_more(2, 10)
    assert found(pattern, "a0", "b30", "a39", "b80") == ["a0 a39 b30 b80"]
    assert found(pattern, "a0", "b30", "a40", "b41") == []


def test_the_shortest_time_counts() -> None:
    pattern = Pattern.begin("b").where(is_a("b")).times(2, window_time=20)
    assert found(pattern.within(10, WithinType.PREVIOUS_AND_CURRENT), "b0", "b15") == []
