"""`Pattern`: the fluent API that defines a pattern of events, part by part.

Semantics: Flink docs, "FlinkCEP", section The Pattern API.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any, NoReturn

from millrace.cep.pattern_arguments import (
    ConditionLike,
    checked_condition,
    checked_duration,
    checked_name,
    is_instance,
)
from millrace.cep.pattern_checks import check_neighbours, checked
from millrace.cep.pattern_diagrams import PatternDiagrams
from millrace.cep.quantified import Quantified
from millrace.common.errors import MalformedPatternError
from millrace.common.functions.pattern_conditions import Condition, all_of, any_of
from millrace.common.time.amounts import Duration, Time
from millrace.runtime.cep.after_match_skip_strategy import AfterMatchSkipStrategy
from millrace.runtime.cep.pattern_model import (
    Contiguity,
    Event,
    EventPattern,
    Group,
    Part,
    Quantifier,
    WithinType,
)


class Pattern(Quantified, PatternDiagrams):
    """A pattern, represented by its last part, which refers to the part before it.

    Flink: class ``Pattern``. `where`, `times` and the like change this part and return it; `next`,
    `followed_by` and the like return a new part that refers to this one, so that several patterns
    may share their first parts. `CEP.pattern` applies the pattern to a stream.

    Every method raises `MalformedPatternError` for arguments of a wrong type, and for those that
    contradict the earlier calls.

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
        super().__init__(negated)
        if previous is not None and not isinstance(previous, Pattern):
            raise MalformedPatternError(f"a part comes after another Pattern, got {previous!r}")
        self._name = checked_name("Pattern", name)
        self._previous = previous
        self._contiguity = contiguity
        self._skip = skip or AfterMatchSkipStrategy.no_skip()
        self._condition: Condition | None = None
        self._within: int | None = None
        self._gap: int | None = None

    @staticmethod
    def begin(
        name_or_group: str | Pattern,
        after_match_skip_strategy: AfterMatchSkipStrategy | None = None,
    ) -> Pattern:
        """Begin a new pattern with its first part.

        Args:
            name_or_group: the name of the part, or a pattern that becomes a group.
            after_match_skip_strategy: strategy by which a match discards overlapping matches; by
                default, none are discarded.

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
        """Accept only events for which the condition is true; several conditions must all be true.

        Example:
            >>> part = Pattern.begin("a").where(lambda value: value > 3).where(lambda v: v < 9)
            >>> [v for v in (2, 5, 10) if part.get_condition().call(v)]
            [5]
        """
        return self._and(checked_condition(condition, "where"))

    def or_(self, condition: ConditionLike) -> Pattern:
        """Accept also events for which this condition is true. (Flink: ``or``, a Python keyword.)

        It applies to all conditions before: ``where(a).where(b).or_(c)`` is ``(a and b) or c``.

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
        """Accept only events that are instances of the class.

        Example:
            >>> part = Pattern.begin("a").subtype(int).where(lambda value: value > 3)
            >>> [v for v in (5, "text", 1) if part.get_condition().call(v)]
            [5]
        """
        if not isinstance(subtype_class, type):
            raise MalformedPatternError(f"subtype() takes a class, got {subtype_class!r}")
        return self._and(is_instance(subtype_class))

    # -- what follows ------------------------------------------------------------------

    def next(self, name_or_group: str | Pattern) -> Pattern:
        """Append a part that the next event must match (strict contiguity).

        Example:
            >>> Pattern.begin("a").next("b")
            Pattern.begin('a').next('b')
        """
        return _part("next", name_or_group, self, Contiguity.STRICT)

    def followed_by(self, name_or_group: str | Pattern) -> Pattern:
        """Append a part that takes the next event that matches it (relaxed contiguity).

        Example:
            >>> Pattern.begin("a").followed_by(Pattern.begin("b").next("c"))
            Pattern.begin('a').followed_by(Pattern.begin('b').next('c'))
        """
        return _part("followed_by", name_or_group, self, Contiguity.RELAXED)

    def followed_by_any(self, name_or_group: str | Pattern) -> Pattern:
        """Append a part that takes any later event that matches it.

        Each such event makes a match (non-deterministic relaxed contiguity).

        Example:
            >>> Pattern.begin("a").followed_by_any("b")
            Pattern.begin('a').followed_by_any('b')
        """
        return _part("followed_by_any", name_or_group, self, Contiguity.ANY)

    def not_next(self, name: str) -> Pattern:
        """Append a part that the very next event must not match.

        Example:
            >>> Pattern.begin("a").not_next("b")
            Pattern.begin('a').not_next('b')
        """
        return self._without("not_next", name, Contiguity.STRICT)

    def not_followed_by(self, name: str) -> Pattern:
        """Append a part that no event may match before an event matches the next part.

        At the end of a pattern: no event before the time of `within` is over.

        Example:
            >>> Pattern.begin("order").not_followed_by("payment").within(Time.hours(1))
            Pattern.begin('order').not_followed_by('payment')
        """
        return self._without("not_followed_by", name, Contiguity.RELAXED)

    # -- how long ----------------------------------------------------------------------

    def within(
        self,
        window_time: int | Time | Duration | timedelta,
        within_type: WithinType = WithinType.FIRST_AND_LAST,
    ) -> Pattern:
        """Limit the duration of a match: it must be shorter than ``window_time`` (a number is in
        ms).

        The time is measured from the first event to the last; of several such limits the smallest
        counts. With `WithinType.PREVIOUS_AND_CURRENT` it is measured from the event before this
        part to the event of this part.

        Example:
            >>> pattern = Pattern.begin("a").next("b").within(Time.minutes(1))
            >>> pattern.get_window_time()
            60000
        """
        _check_within_type("within", within_type)
        duration = checked_duration(window_time)
        if within_type is WithinType.FIRST_AND_LAST:
            self._within = duration
        else:
            self._gap = duration
        return self

    # -- getters -----------------------------------------------------------------------

    def get_name(self) -> str:
        """The name of this part; "" for a group."""
        return self._name

    def get_previous(self) -> Pattern | None:
        """The part before this one; None for the first part."""
        return self._previous

    def get_condition(self) -> Condition | None:
        """The condition that `where`, `or_` and `subtype` have set; None if any event matches."""
        return self._condition

    def get_window_time(self, within_type: WithinType = WithinType.FIRST_AND_LAST) -> int | None:
        """The limit that `within` has set for this part, in ms; None if there is no limit."""
        _check_within_type("get_window_time", within_type)
        return self._within if within_type is WithinType.FIRST_AND_LAST else self._gap

    def get_after_match_skip_strategy(self) -> AfterMatchSkipStrategy:
        """The strategy that `begin` has set."""
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

    def _called(self) -> str:
        return f"pattern {self._name!r}"

    def _check_optional(self, quantifier: Quantifier) -> None:
        if self._previous is not None:
            optional_part = replace(self._as_part(), quantifier=quantifier)
            check_neighbours(self._previous._as_part(), optional_part)

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
        """All limits of the time from the first to the last event, in ms."""
        for part in self._chain():
            yield from part._own_windows()

    def _own_windows(self) -> Iterator[int]:
        if self._within is not None:
            yield self._within

    def __repr__(self) -> str:
        return "Pattern" + "".join(part._call() for part in self._chain())

    def _call(self) -> str:
        """The call that created this part, for `repr`."""
        word = self._contiguity.value if self._previous else "begin"
        return f".{'not_' if self._negated else ''}{word}({self._argument()})"

    def _argument(self) -> str:
        return repr(self._name)


class GroupPattern(Pattern):
    """A part that is itself a pattern. Flink: class ``GroupPattern``.

    `Pattern.begin`, `next`, `followed_by` and `followed_by_any` create one when called with a
    pattern. A group may be repeated, optional and limited in time, but not greedy, and it has no
    condition: only the parts in it have.

    Example:
        >>> pair = Pattern.begin("a").next("b")
        >>> pattern = Pattern.begin("start").followed_by(pair).times(2)
        >>> [event.name for event in pattern.model().events()]
        ['start', 'a', 'b']
    """

    def __init__(
        self,
        group: Pattern,
        previous: Pattern | None,
        contiguity: Contiguity,
        skip: AfterMatchSkipStrategy | None,
    ) -> None:
        if not isinstance(group, Pattern):
            raise MalformedPatternError(f"a group is made of another Pattern, got {group!r}")
        super().__init__(group.get_name() or "group", previous, contiguity, False, skip)
        self._name = ""  # only the parts in a group have names
        self._group = group
        if group.get_after_match_skip_strategy() != AfterMatchSkipStrategy.no_skip():
            raise MalformedPatternError(
                f"{self._called()} has a skip strategy, but a skip strategy applies to "
                "matches of the whole pattern; pass it to the outermost begin()"
            )

    def get_raw_pattern(self) -> Pattern:
        """The pattern inside the group."""
        return self._group

    def where(self, condition: ConditionLike) -> NoReturn:
        """Not available for groups."""
        self._refuse_condition("where")

    def or_(self, condition: ConditionLike) -> NoReturn:
        """Not available for groups."""
        self._refuse_condition("or_")

    def subtype(self, subtype_class: type) -> NoReturn:
        """Not available for groups."""
        self._refuse_condition("subtype")

    def greedy(self) -> NoReturn:
        """Not available for groups."""
        raise MalformedPatternError(
            f"{self._called()} cannot be greedy, because only single patterns can; call "
            "greedy() on one of its parts"
        )

    def _refuse_condition(self, method: str) -> NoReturn:
        raise MalformedPatternError(
            f"{self._called()} has no condition of its own; call {method}() on its parts"
        )

    def _called(self) -> str:
        return f"the group of {', '.join(map(repr, self._group._names()))}"

    def _as_part(self) -> Part:
        return Group(self._group._parts(), self._contiguity, self._quantifier, self._gap)

    def _own_names(self) -> Iterator[str]:
        return self._group._names()

    def _own_windows(self) -> Iterator[int]:
        yield from super()._own_windows()
        yield from self._group._windows()

    def _argument(self) -> str:
        return repr(self._group)


def _part(
    method: str,
    name_or_group: str | Pattern,
    previous: Pattern | None,
    contiguity: Contiguity,
    skip: AfterMatchSkipStrategy | None = None,
) -> Pattern:
    """Create a part, or a group, after ``previous``."""
    if previous is not None:
        skip = previous._skip
    if isinstance(name_or_group, Pattern):
        _check_names(name_or_group._names(), previous)
        return GroupPattern(name_or_group, previous, contiguity, skip)
    name = _new_name(method, name_or_group, previous)
    return Pattern(name, previous, contiguity, False, skip)


def _check_within_type(method: str, within_type: Any) -> None:
    if not isinstance(within_type, WithinType):
        raise MalformedPatternError(
            f"{method}() takes a WithinType such as WithinType.FIRST_AND_LAST, got {within_type!r}"
        )


def _new_name(method: str, name: Any, previous: Pattern | None) -> str:
    new = checked_name(method, name)
    _check_names((new,), previous)
    return new


def _check_names(names: Iterable[str], previous: Pattern | None) -> None:
    known = set(previous._names()) if previous is not None else set()
    for name in names:
        if name in known:
            raise MalformedPatternError(
                f"two patterns are named {name!r}; give each a name of its own"
            )
