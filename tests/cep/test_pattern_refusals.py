"""Patterns that contradict themselves are refused while they are built, in one sentence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from millrace.cep import (
    AfterMatchSkipStrategy,
    GroupPattern,
    IterativeCondition,
    MalformedPatternError,
    Pattern,
    SimpleCondition,
    WithinType,
)
from millrace.common.errors import JobDefinitionError
from millrace.common.time import Time
from millrace.runtime.cep.pattern_model import Contiguity


async def later(value: Any) -> bool:
    return True


def several(value: Any) -> Any:
    yield True


class Later(SimpleCondition[Any]):
    async def filter(self, value: Any, ctx: Any = None) -> bool:  # type: ignore[override]
        return True


async def several_later(value: Any) -> Any:
    yield True


class Called:
    async def __call__(self, value: Any) -> bool:
        return True


class NeedsContext(SimpleCondition[Any]):
    def filter(self, value: Any, ctx: Any) -> bool:  # type: ignore[override]
        return True


class NoContext(IterativeCondition[Any]):
    def filter(self, value: Any) -> bool:  # type: ignore[override]
        return True


skip_to_x = AfterMatchSkipStrategy.skip_to_first("x")


def any_event(value: Any) -> bool:
    return True


def a() -> Pattern:
    return Pattern.begin("a")


def group() -> Pattern:
    return Pattern.begin(Pattern.begin("g").next("h"))


def may_be_empty() -> Pattern:
    """A group whose parts are all optional, one of them in a group again."""
    return Pattern.begin(Pattern.begin(Pattern.begin("g").optional()))


def greedy_group() -> Pattern:
    return Pattern.begin(Pattern.begin(Pattern.begin("g").one_or_more().greedy()))


REFUSED: list[tuple[Callable[[], Any], str]] = [
    # names
    (lambda: Pattern.begin(""), "begin() takes a name, but it is empty"),
    (lambda: Pattern.begin(3), "begin() takes the name of a part, or another pattern"),
    (lambda: a().not_next(Pattern.begin("b")), "not_next() takes the name of a part; got Pattern"),
    (lambda: a().next("a"), "two patterns are named 'a'"),
    (lambda: a().not_followed_by("a"), "two patterns are named 'a'"),
    (lambda: a().next(Pattern.begin("b").next("a")), "two patterns are named 'a'"),
    (lambda: group().next("h"), "two patterns are named 'h'"),
    (lambda: Pattern.begin(a()).next(group()).next(group()), "two patterns are named 'g'"),
    (lambda: Pattern.begin("a\nb"), r"begin() takes a name of one line that can be printed"),
    (lambda: a().not_next("\ud800"), "not_next() takes a name of one line that can be printed"),
    (lambda: a().next("b\x1b"), r"can be printed, got 'b\x1b'"),
    (lambda: Pattern(3), "Pattern() takes the name of a part, or another pattern"),
    (lambda: Pattern("b", "a"), "a part comes after another Pattern, got 'a'"),
    (lambda: GroupPattern("a", None, Contiguity.RELAXED, None), "a group is made of another Patte"),
    # conditions
    (lambda: a().where(NeedsContext()), "define it as `def filter(self, value, ctx=None)`"),
    (lambda: a().where(NoContext()), "define it as `def filter(self, value, ctx)`"),
    (lambda: a().where(SimpleCondition.of(lambda: True)), "cannot be called with one or two argu"),
    (lambda: SimpleCondition.of("x"), "SimpleCondition.of() takes a callable of the event, got"),
    (lambda: SimpleCondition.of(bool), "SimpleCondition.of() takes a callable of the event, got"),
    (lambda: a().where(several_later), "is async or a generator"),
    (lambda: a().where(Called()), "is async or a generator"),
    (lambda: a().where(5), "where() takes a condition"),
    (lambda: a().where(bool), "where() takes a condition"),
    (lambda: a().where(None), "where() takes a condition"),
    (lambda: a().where(lambda: True), "cannot be called with one or two arguments"),
    (lambda: a().or_(lambda value, ctx, more: True), "or_() takes a callable of the event, or"),
    (lambda: a().where(later), "is async or a generator: its return value always counts as"),
    (lambda: a().where(several), "is async or a generator"),
    (lambda: a().one_or_more().until(Later()), "until() takes a condition that returns True or"),
    (lambda: a().or_("x"), "or_() takes a condition"),
    (lambda: a().or_(any_event), "pattern 'a' takes any event so far, so or_() has nothing"),
    (lambda: a().subtype(5), "subtype() takes a class, got 5"),
    (lambda: a().subtype("int"), "subtype() takes a class, got 'int'"),
    (lambda: a().until(any_event), "pattern 'a' is not a loop, so until() has nothing to end"),
    (lambda: a().times(2, 4).until(any_event), "pattern 'a' is not a loop"),
    (lambda: a().one_or_more().until(1), "until() takes a condition"),
    (lambda: a().one_or_more().until(any_event).until(any_event), "has an until() already"),
    # how often
    (lambda: a().times(0), "times() takes a number of 1 or more, got 0"),
    (lambda: a().times(-1), "times() takes a number of 1 or more, got -1"),
    (lambda: a().times(0, 0), "times() takes a number of 1 or more, got 0"),
    (lambda: a().times(3, 2), "times(3, 2) has its bounds in the wrong order"),
    (lambda: a().times(True), "times() takes a whole number, got True"),
    (lambda: a().times(False, 2), "times() takes a whole number, got False"),
    (lambda: a().times(2.0), "times() takes a whole number, got 2.0"),
    (lambda: a().times(1, "2"), "times() takes a whole number, got '2'"),
    (lambda: a().times_or_more(0), "times_or_more() takes a number of 1 or more, got 0"),
    (lambda: a().times(2).one_or_more(), "pattern 'a' already has a number of occurrences (2 ti"),
    (lambda: a().times(1).times(1), "already has a number of occurrences (once)"),
    (lambda: a().one_or_more().times(1), "already has a number of occurrences (once or more)"),
    (lambda: a().times_or_more(2).one_or_more(), "occurrences (2 times or more)"),
    (lambda: a().times(0, 3).times(1), "occurrences (1 to 3 times, or not at all)"),
    (lambda: a().optional().optional(), "pattern 'a' is optional already"),
    (lambda: a().times(0, 3).optional(), "pattern 'a' is optional already"),
    (lambda: a().times(0.0, 2), "times() takes a whole number, got 0.0"),
    (lambda: a().times(2).greedy().greedy(), "pattern 'a' is greedy already"),
    (lambda: a().greedy(), "pattern 'a' occurs once, so it cannot be greedy"),
    (lambda: a().optional().greedy(), "pattern 'a' occurs once, so it cannot be greedy"),
    (lambda: a().times(2).allow_combinations().greedy(), "both greedy() and allow_combinations()"),
    (lambda: a().times(2).greedy().allow_combinations(), "both greedy() and allow_combinations()"),
    (lambda: a().consecutive(), "pattern 'a' occurs once, so nothing can lie between"),
    (lambda: a().optional().allow_combinations(), "pattern 'a' occurs once, so nothing can lie"),
    (lambda: a().times(2).consecutive().consecutive(), "already has consecutive()"),
    (lambda: a().times(2).consecutive().allow_combinations(), "cannot be both consecutive() and"),
    (lambda: a().times(2).allow_combinations().consecutive(), "cannot be both consecutive() and"),
    # what must not occur
    (
        lambda: a().not_next("b").optional(),
        "pattern 'b' must not occur, so optional() has no meaning",
    ),
    (lambda: a().not_next("b").times(2), "pattern 'b' must not occur, so times() has no meaning"),
    (
        lambda: a().not_followed_by("b").one_or_more(),
        "'b' must not occur, so one_or_more() has no meaning",
    ),
    (lambda: a().not_followed_by("b").greedy(), "'b' must not occur, so greedy() has no meaning"),
    (
        lambda: a().not_next("b").consecutive(),
        "'b' must not occur, so consecutive() has no meaning",
    ),
    (lambda: a().not_next("b").until(any_event), "pattern 'b' is not a loop"),
    (lambda: a().optional().not_next("b"), "pattern 'a' before it is optional"),
    (lambda: a().times(0, 2).not_followed_by("b"), "pattern 'a' before it is optional"),
    (lambda: group().optional().not_next("b"), "the group of 'g', 'h' before it is optional"),
    (lambda: may_be_empty().not_next("b"), "the group of 'g' before it has only optional parts"),
    (
        lambda: may_be_empty().not_followed_by("b"),
        "so the event after which it must not occur is undetermined",
    ),
    (lambda: greedy_group().next("b").optional(), "group of 'g' before it ends with a greedy part"),
    (lambda: a().one_or_more().greedy().next("b").optional(), "pattern 'b' is optional, but"),
    (lambda: a().one_or_more().greedy().next("b").times(0, 2), "pattern 'a' before it is greedy"),
    # groups
    (lambda: group().greedy(), "the group of 'g', 'h' cannot be greedy"),
    (lambda: group().one_or_more().greedy(), "the group of 'g', 'h' cannot be greedy"),
    (lambda: group().where(any_event), "the group of 'g', 'h' has no condition of its own"),
    (lambda: group().or_(any_event), "call or_() on its parts"),
    (lambda: group().subtype(int), "call subtype() on its parts"),
    (lambda: group().times(2).times(3), "the group of 'g', 'h' already has a number"),
    (lambda: group().consecutive(), "the group of 'g', 'h' occurs once"),
    (lambda: a().next(Pattern.begin("b", skip_to_x)), "the group of 'b' has a skip strategy"),
    # how long
    (lambda: a().within(-5), "within() takes a time of 1 ms or more, got -5"),
    (lambda: a().within(0), "within() takes a time of 1 ms or more, got 0"),
    (lambda: a().within(2**53 + 1), "within() takes a time of at most 9007199254740992 ms"),
    (lambda: a().within("10 s"), "within() takes an amount of time"),
    (lambda: a().within(None), "within() takes an amount of time"),
    (lambda: a().times(2, window_time=0), "times() takes a time of 1 ms or more, got 0"),
    (lambda: a().times(2, Time.seconds(0)), "times() takes a time of 1 ms or more, got"),
    (lambda: a().one_or_more("1 s"), "one_or_more() takes an amount of time"),
    (lambda: a().times_or_more(2, -1), "times_or_more() takes a time of 1 ms or more, got -1"),
    (lambda: a().within(5, "gap"), "within() takes a WithinType such as"),
    (lambda: a().get_window_time("x"), "get_window_time() takes a WithinType such as"),
    # skipping
    (lambda: Pattern.begin("a", "no_skip"), "begin() takes an AfterMatchSkipStrategy such as"),
]

REFUSED_AS_A_WHOLE: list[tuple[Pattern, str]] = [
    (a().not_followed_by("b"), "the pattern ends with not_followed_by('b') but never ends"),
    (Pattern.begin(a().not_followed_by("b")), "the pattern ends with not_followed_by('b')"),
    (
        a().one_or_more().greedy().next(Pattern.begin("b").optional()),
        "the group of 'b' has only optional parts, but pattern 'a' before it is greedy",
    ),
    (Pattern.begin("a", skip_to_x), "names no part of the pattern; there are 'a'"),
    (Pattern.begin("a", skip_to_x).not_next("x").next("b"), "names a part that must not occur"),
    (
        a().next("b").within(20, WithinType.PREVIOUS_AND_CURRENT).within(10),
        "pattern 'b' may come 20 ms after the event before, but the whole match",
    ),
    (
        a().times(2, window_time=20).within(10),
        "pattern 'a' may occur again 20 ms later, but the whole match must take less than 10 ms",
    ),
]


@pytest.mark.parametrize(("build", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_refused_where_it_is_said(build: Callable[[], Any], message: str) -> None:
    with pytest.raises(MalformedPatternError) as caught:
        build()
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("pattern", "message"), REFUSED_AS_A_WHOLE)
def test_refused_as_a_whole(pattern: Pattern, message: str) -> None:
    with pytest.raises(MalformedPatternError) as caught:
        pattern.model()
    assert message in str(caught.value)


def test_refused_although_said_later() -> None:
    """What came before is changed so that it contradicts what came after."""
    first = a()
    pattern = first.not_next("b").next("c")
    pattern.model()
    first.optional()
    with pytest.raises(MalformedPatternError, match="pattern 'a' before it is optional"):
        pattern.model()
    with pytest.raises(MalformedPatternError, match="pattern 'a' before it is optional"):
        Pattern.begin(pattern).model()


def test_what_was_refused_has_changed_nothing() -> None:
    pattern = a().times(2)
    before = pattern.model()
    for refused in (pattern.one_or_more, lambda: pattern.within(0), lambda: pattern.where(1)):
        with pytest.raises(JobDefinitionError):
            refused()
    assert pattern.model() == before


def test_what_ends_in_time_may_end_with_nothing() -> None:
    whole = a().not_followed_by("b").within(10)
    gap = a().not_followed_by("b").within(10, WithinType.PREVIOUS_AND_CURRENT)
    assert [whole.model().within, gap.model().parts[1].window_time] == [10, 10]


def test_a_name_in_a_group_can_be_skipped_to() -> None:
    pattern = Pattern.begin("a", skip_to_x).next(Pattern.begin("w").next("x"))
    assert pattern.model().skip == skip_to_x
