"""What to look for in a stream of events, said part by part.

Semantics: Flink docs, "FlinkCEP", section The Pattern API.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

from millrace.cep import quantifiers
from millrace.cep.pattern_arguments import (
    ConditionLike,
    checked_condition,
    checked_duration,
    checked_name,
    is_instance,
)
from millrace.cep.pattern_checks import check_neighbours, checked
from millrace.cep.pictures import Pictured
from millrace.common.after_match_skip_strategy import AfterMatchSkipStrategy
from millrace.common.errors import MalformedPatternError
from millrace.common.pattern_conditions import Condition, all_of, any_of
from millrace.common.pattern_model import (
    ONCE,
    Contiguity,
    Event,
    EventPattern,
    Part,
    Quantifier,
    WithinType,
)
from millrace.common.time import Duration, Time


class Pattern(Pictured):
    """A pattern: this part of it, and the parts before.

    Flink: class ``Pattern``. `where`, `times` and the like change this part and return it; `next`,
    `followed_by` and the like return a new part that remembers this one, so that several patterns
    may begin alike. Nothing is looked for before `CEP.pattern`.

    Every method raises `MalformedPatternError` for what contradicts what was said before, and for
    arguments of another type.

    Example:
        >>> start = Pattern.begin("small").where(lambda value: value < 10)
        >>> pattern = start.followed_by("large").where(lambda value: value > 1000).within(60_000)
        >>> pattern
        Pattern.begin('small').followed_by('large')
        >>> pattern.model().within
        60000
    """

    def __init__(
        self,
        name: str,
        previous: Pattern | None = None,
        contiguity: Contiguity = Contiguity.RELAXED,
        negated: bool = False,
        skip: AfterMatchSkipStrategy | None = None,
    ) -> None:
        self._name = name
        self._previous = previous
        self._contiguity = contiguity
        self._negated = negated
        self._skip = skip or AfterMatchSkipStrategy.no_skip()
        self._condition: Condition | None = None
        self._quantifier = ONCE
        self._counted = False
        self._within: int | None = None
        self._gap: int | None = None

    @staticmethod
    def begin(
        name_or_group: str | Pattern,
        after_match_skip_strategy: AfterMatchSkipStrategy | None = None,
    ) -> Pattern:
        """The first part of a new pattern.

        Args:
            name_or_group: its name, or a pattern that becomes a group.
            after_match_skip_strategy: which matches are thrown away once one was found; by
                default, none.

        Example:
            >>> Pattern.begin("a", AfterMatchSkipStrategy.skip_past_last_event()).get_name()
            'a'
        """
        skip = after_match_skip_strategy
        if skip is not None and not isinstance(skip, AfterMatchSkipStrategy):
            raise MalformedPatternError(
                "begin() takes an AfterMatchSkipStrategy such as "
                f"AfterMatchSkipStrategy.no_skip(), got {skip!r}"
            )
        return _part("begin", name_or_group, None, Contiguity.RELAXED, skip)

    # -- which events ------------------------------------------------------------------

    def where(self, condition: ConditionLike) -> Pattern:
        """Only events for which the condition is true; several must all be.

        Example:
            >>> part = Pattern.begin("a").where(lambda value: value > 3).where(lambda v: v < 9)
            >>> [v for v in (2, 5, 10) if part.get_condition().call(v)]
            [5]
        """
        return self._and(checked_condition(condition, "where"))

    def or_(self, condition: ConditionLike) -> Pattern:
        """Also events for which this condition is true. (Flink: ``or``, a word of Python.)

        It joins all that was said before: ``where(a).where(b).or_(c)`` is ``(a and b) or c``.

        Example:
            >>> part = Pattern.begin("a").where(lambda value: value < 3).or_(lambda v: v > 9)
            >>> [v for v in (2, 5, 10) if part.get_condition().call(v)]
            [2, 10]
        """
        other = checked_condition(condition, "or_")
        if self._condition is None:
            raise MalformedPatternError(
                f"{self._called()} takes any event so far, so or_() has nothing to widen; begin "
                "with where()"
            )
        self._condition = any_of(self._condition, other)
        return self

    def subtype(self, subtype_class: type) -> Pattern:
        """Only events that are instances of the class.

        Example:
            >>> part = Pattern.begin("a").subtype(int).where(lambda value: value > 3)
            >>> [v for v in (5, "text", 1) if part.get_condition().call(v)]
            [5]
        """
        if not isinstance(subtype_class, type):
            raise MalformedPatternError(f"subtype() takes a class, got {subtype_class!r}")
        return self._and(is_instance(subtype_class))

    def until(self, condition: ConditionLike) -> Pattern:
        """An event for which this is true ends the loop, and is not part of it.

        Example:
            >>> stop = lambda value: value == "stop"
            >>> Pattern.begin("a").one_or_more().until(stop).get_until_condition().call("stop")
            True
        """
        until = checked_condition(condition, "until")
        self._quantifier = quantifiers.with_until(self._called(), self._quantifier, until)
        return self

    # -- what follows ------------------------------------------------------------------

    def next(self, name_or_group: str | Pattern) -> Pattern:
        """The event right after is of this part (strict contiguity).

        Example:
            >>> Pattern.begin("a").next("b")
            Pattern.begin('a').next('b')
        """
        return _part("next", name_or_group, self, Contiguity.STRICT)

    def followed_by(self, name_or_group: str | Pattern) -> Pattern:
        """A later event is of this part: the first that can be (relaxed contiguity).

        Example:
            >>> Pattern.begin("a").followed_by(Pattern.begin("b").next("c"))
            Pattern.begin('a').followed_by(Pattern.begin('b').next('c'))
        """
        return _part("followed_by", name_or_group, self, Contiguity.RELAXED)

    def followed_by_any(self, name_or_group: str | Pattern) -> Pattern:
        """A later event is of this part: any that can be (non-deterministic relaxed contiguity).

        Example:
            >>> Pattern.begin("a").followed_by_any("b")
            Pattern.begin('a').followed_by_any('b')
        """
        return _part("followed_by_any", name_or_group, self, Contiguity.ANY)

    def not_next(self, name: str) -> Pattern:
        """The event right after is not of this part.

        Example:
            >>> Pattern.begin("a").not_next("b")
            Pattern.begin('a').not_next('b')
        """
        return self._without("not_next", name, Contiguity.STRICT)

    def not_followed_by(self, name: str) -> Pattern:
        """No event is of this part before the next part is taken. At the end of a pattern: before
        the time of `within` is over.

        Example:
            >>> Pattern.begin("order").not_followed_by("payment").within(Time.hours(1))
            Pattern.begin('order').not_followed_by('payment')
        """
        return self._without("not_followed_by", name, Contiguity.RELAXED)

    # -- how often ---------------------------------------------------------------------

    def times(self, times: int, to_times: int | None = None) -> Pattern:
        """So many times, or from so many to so many; from 0 means that it is optional.

        Example:
            >>> Pattern.begin("a").times(2, 4).get_quantifier().most
            4
        """
        if to_times is None:
            least = most = quantifiers.checked_count("times", times)
        else:
            least, most = quantifiers.checked_range(times, to_times)
        self._repeat("times", max(least, 1), most)
        return self if least else self.optional()

    def times_or_more(self, times: int) -> Pattern:
        """At least so many times.

        Example:
            >>> Pattern.begin("a").times_or_more(2).get_quantifier().most is None
            True
        """
        least = quantifiers.checked_count("times_or_more", times)
        return self._repeat("times_or_more", least, None)

    def one_or_more(self) -> Pattern:
        """At least once. Bound it by `until` or `within`, or its events are kept for good.

        Example:
            >>> Pattern.begin("a").one_or_more().get_quantifier().least
            1
        """
        return self._repeat("one_or_more", 1, None)

    def optional(self) -> Pattern:
        """It may be left out.

        Example:
            >>> Pattern.begin("a").followed_by("b").optional().get_quantifier().optional
            True
        """
        self._refuse_if_negated("optional")
        quantifier = quantifiers.optional(self._called(), self._quantifier)
        if self._previous is not None:
            optional_part = replace(self._as_part(), quantifier=quantifier)
            check_neighbours(self._previous._as_part(), optional_part)
        self._quantifier = quantifier
        return self

    def greedy(self) -> Pattern:
        """It takes every event it can: an event that could also be of the next part is of this.

        Example:
            >>> Pattern.begin("a").one_or_more().greedy().get_quantifier().greedy
            True
        """
        self._refuse_if_negated("greedy")
        self._quantifier = quantifiers.greedy(self._called(), self._quantifier, self._counted)
        return self

    def consecutive(self) -> Pattern:
        """Nothing may lie between its occurrences (else: what is not of this part may).

        Example:
            >>> Pattern.begin("a").times(3).consecutive().get_quantifier().inner
            <Contiguity.STRICT: 'next'>
        """
        return self._between("consecutive", Contiguity.STRICT)

    def allow_combinations(self) -> Pattern:
        """Anything may lie between its occurrences, also events that could have been one.

        Example:
            >>> Pattern.begin("a").times(3).allow_combinations().get_quantifier().inner
            <Contiguity.ANY: 'followed_by_any'>
        """
        return self._between("allow_combinations", Contiguity.ANY)

    # -- how long ----------------------------------------------------------------------

    def within(
        self,
        window_time: int | Time | Duration | timedelta,
        within_type: WithinType = WithinType.FIRST_AND_LAST,
    ) -> Pattern:
        """A match takes less time than this (ms, if it is a number).

        From its first event to its last; of several such limits the least counts. Or
        (`WithinType.PREVIOUS_AND_CURRENT`) from the event before to the one of this part.

        Example:
            >>> pattern = Pattern.begin("a").next("b").within(Time.minutes(1))
            >>> pattern.get_window_time()
            60000
        """
        if not isinstance(within_type, WithinType):
            raise MalformedPatternError(
                f"within() takes a WithinType such as WithinType.FIRST_AND_LAST, got "
                f"{within_type!r}"
            )
        duration = checked_duration(window_time)
        if within_type is WithinType.FIRST_AND_LAST:
            self._within = duration
        else:
            self._gap = duration
        return self

    # -- what was said -----------------------------------------------------------------

    def get_name(self) -> str:
        """The name of this part; a group has none of its own."""
        return self._name

    def get_previous(self) -> Pattern | None:
        """The part before; None for the first."""
        return self._previous

    def get_condition(self) -> Condition | None:
        """What `where` and the like have said; None: any event."""
        return self._condition

    def get_until_condition(self) -> Condition | None:
        """What ends the loop."""
        return self._quantifier.until

    def get_quantifier(self) -> Quantifier:
        """How often this part occurs."""
        return self._quantifier

    def get_window_time(self, within_type: WithinType = WithinType.FIRST_AND_LAST) -> int | None:
        """What `within` has set for this part, ms."""
        return self._within if within_type is WithinType.FIRST_AND_LAST else self._gap

    def get_after_match_skip_strategy(self) -> AfterMatchSkipStrategy:
        """What becomes of overlapping matches."""
        return self._skip

    def model(self) -> EventPattern:
        """The whole pattern as plain data.

        Raises:
            MalformedPatternError: nothing could match it, or not for certain.

        Example:
            >>> [event.name for event in Pattern.begin("a").next("b").model().events()]
            ['a', 'b']
        """
        within = min(self._windows(), default=None)
        return checked(EventPattern(self._parts(), within, self._skip))

    # -- building ----------------------------------------------------------------------

    def _and(self, condition: Condition) -> Pattern:
        before = self._condition
        self._condition = condition if before is None else all_of(before, condition)
        return self

    def _without(self, method: str, name: str, contiguity: Contiguity) -> Pattern:
        part = Pattern(_new_name(method, name, self), self, contiguity, True, self._skip)
        check_neighbours(self._as_part(), part._as_part())
        return part

    def _repeat(self, method: str, least: int, most: int | None) -> Pattern:
        self._refuse_if_negated(method)
        self._quantifier = quantifiers.repeated(
            self._called(), self._quantifier, least, most, self._counted
        )
        self._counted = True
        return self

    def _between(self, method: str, inner: Contiguity) -> Pattern:
        self._refuse_if_negated(method)
        self._quantifier = quantifiers.with_inner(
            self._called(), self._quantifier, inner, self._counted
        )
        return self

    def _refuse_if_negated(self, method: str) -> None:
        if self._negated:
            raise MalformedPatternError(
                f"{self._called()} must not occur, so {method}() says nothing about it; leave it "
                "away"
            )

    def _called(self) -> str:
        """What errors call this part."""
        return f"pattern {self._name!r}"

    # -- seen from other parts ---------------------------------------------------------

    def _chain(self) -> list[Pattern]:
        """The parts from the first to this one."""
        chain: list[Pattern] = []
        part: Pattern | None = self
        while part is not None:
            chain.append(part)
            part = part._previous
        return chain[::-1]

    def _parts(self) -> tuple[Part, ...]:
        return tuple(part._as_part() for part in self._chain())

    def _as_part(self) -> Part:
        """This part alone, as plain data."""
        return Event(
            self._name,
            self._condition,
            self._contiguity,
            self._negated,
            self._quantifier,
            self._gap,
        )

    def _names(self) -> Iterator[str]:
        """The names of all parts."""
        for part in self._chain():
            yield from part._own_names()

    def _own_names(self) -> Iterator[str]:
        yield self._name

    def _windows(self) -> Iterator[int]:
        """All limits from the first to the last event, ms."""
        for part in self._chain():
            yield from part._own_windows()

    def _own_windows(self) -> Iterator[int]:
        if self._within is not None:
            yield self._within

    def __repr__(self) -> str:
        return "Pattern" + "".join(part._call() for part in self._chain())

    def _call(self) -> str:
        """The call that made this part."""
        word = self._contiguity.value if self._previous else "begin"
        return f".{'not_' if self._negated else ''}{word}({self._argument()})"

    def _argument(self) -> str:
        return repr(self._name)


def _part(
    method: str,
    name_or_group: str | Pattern,
    previous: Pattern | None,
    contiguity: Contiguity,
    skip: AfterMatchSkipStrategy | None = None,
) -> Pattern:
    """A new part at the end of the chain."""
    if previous is not None:
        skip = previous._skip
    if isinstance(name_or_group, Pattern):
        from millrace.cep.group_pattern import GroupPattern

        _check_names(name_or_group._names(), previous)
        return GroupPattern(name_or_group, previous, contiguity, skip)
    name = _new_name(method, name_or_group, previous)
    return Pattern(name, previous, contiguity, False, skip)


def _new_name(method: str, name: Any, previous: Pattern | None) -> str:
    new = checked_name(method, name)
    _check_names((new,), previous)
    return new


def _check_names(names: Iterable[str], previous: Pattern | None) -> None:
    known = set(previous._names()) if previous is not None else set()
    for name in names:
        if name in known:
            raise MalformedPatternError(
                f"there are two patterns named {name!r}; each needs a name of its own"
            )
