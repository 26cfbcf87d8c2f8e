"""The methods of a pattern that say how often a part occurs.

Semantics: Flink docs, "FlinkCEP", sections Quantifiers and Contiguity within looping patterns.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from datetime import timedelta
from typing import Self

from millrace.cep import quantifiers
from millrace.cep.pattern_arguments import ConditionLike, checked_condition, checked_duration
from millrace.common.errors import MalformedPatternError
from millrace.common.functions.pattern_conditions import Condition
from millrace.common.time.amounts import Duration, Time
from millrace.runtime.cep.pattern_model import ONCE, Contiguity, Quantifier

Amount = Time | Duration | timedelta


class Quantified(ABC):
    """A part of a pattern that occurs once, unless a quantifier says otherwise."""

    def __init__(self, negated: bool) -> None:
        self._negated = negated
        self._quantifier = ONCE
        self._counted = False

    @abstractmethod
    def _called(self) -> str:
        """Name of this part in errors."""

    @abstractmethod
    def _check_optional(self, quantifier: Quantifier) -> None:
        """Raise MalformedPatternError if the part before this one does not allow this part to be
        optional."""

    def times(
        self,
        times: int,
        to_times: int | Amount | None = None,
        window_time: int | Amount | None = None,
    ) -> Self:
        """Let the part occur a number of times, or between two numbers of times; a lower bound of 0
        makes the part optional.

        Args:
            times: the number of occurrences, or the minimum.
            to_times: the maximum; a `Time`, `Duration` or `timedelta` is taken as `window_time`.
            window_time: upper limit, itself excluded, of the time between one occurrence and the
                next (a number is in ms).

        Example:
            >>> from millrace.cep import Pattern
            >>> Pattern.begin("a").times(2, 4).get_quantifier().most
            4
            >>> from millrace.common.time import Time
            >>> Pattern.begin("a").times(3, Time.seconds(5)).get_quantifier().window_time
            5000
        """
        if isinstance(to_times, Amount) and window_time is None:
            to_times, window_time = None, to_times
        if to_times is None:
            least = most = quantifiers.checked_count("times", times)
        else:
            least, most = quantifiers.checked_range(times, to_times)
        self._repeat("times", max(least, 1), most, window_time)
        return self if least else self.optional()

    def times_or_more(self, times: int, window_time: int | Amount | None = None) -> Self:
        """Let the part occur at least a number of times; `window_time` as for `times`.

        Example:
            >>> from millrace.cep import Pattern
            >>> Pattern.begin("a").times_or_more(2).get_quantifier().most is None
            True
        """
        least = quantifiers.checked_count("times_or_more", times)
        return self._repeat("times_or_more", least, None, window_time)

    def one_or_more(self, window_time: int | Amount | None = None) -> Self:
        """Let the part occur at least once. Limit the loop with `window_time` (as for `times`),
        `until` or `within`: otherwise its events are kept forever.

        Example:
            >>> from millrace.cep import Pattern
            >>> Pattern.begin("a").one_or_more().get_quantifier().least
            1
        """
        return self._repeat("one_or_more", 1, None, window_time)

    def optional(self) -> Self:
        """Allow matches without this part.

        Example:
            >>> from millrace.cep import Pattern
            >>> Pattern.begin("a").followed_by("b").optional().get_quantifier().optional
            True
        """
        self._refuse_if_negated("optional")
        quantifier = quantifiers.optional(self._called(), self._quantifier)
        self._check_optional(quantifier)
        self._quantifier = quantifier
        return self

    def greedy(self) -> Self:
        """Let the part take every event it can, even an event that the next part could take.

        Example:
            >>> from millrace.cep import Pattern
            >>> Pattern.begin("a").one_or_more().greedy().get_quantifier().greedy
            True
        """
        self._refuse_if_negated("greedy")
        self._quantifier = quantifiers.greedy(self._called(), self._quantifier, self._counted)
        return self

    def consecutive(self) -> Self:
        """Allow no other events between the occurrences of the part. By default, events that the
        part does not take may lie between them.

        Example:
            >>> from millrace.cep import Pattern
            >>> Pattern.begin("a").times(3).consecutive().get_quantifier().inner
            <Contiguity.STRICT: 'next'>
        """
        return self._between("consecutive", Contiguity.STRICT)

    def allow_combinations(self) -> Self:
        """Allow any events between the occurrences of the part, even events that the part could
        take.

        Example:
            >>> from millrace.cep import Pattern
            >>> Pattern.begin("a").times(3).allow_combinations().get_quantifier().inner
            <Contiguity.ANY: 'followed_by_any'>
        """
        return self._between("allow_combinations", Contiguity.ANY)

    def until(self, condition: ConditionLike) -> Self:
        """End the loop at an event for which the condition is true; the event is not part of the
        loop.

        Example:
            >>> from millrace.cep import Pattern
            >>> stop = lambda value: value == "stop"
            >>> Pattern.begin("a").one_or_more().until(stop).get_until_condition().call("stop")
            True
        """
        until = checked_condition(condition, "until")
        self._quantifier = quantifiers.with_until(self._called(), self._quantifier, until)
        return self

    def get_until_condition(self) -> Condition | None:
        """Condition that ends the loop."""
        return self._quantifier.until

    def get_quantifier(self) -> Quantifier:
        """Number of occurrences of this part."""
        return self._quantifier

    def _repeat(
        self, method: str, least: int, most: int | None, window_time: int | Amount | None
    ) -> Self:
        self._refuse_if_negated(method)
        window_time_ms = None if window_time is None else checked_duration(window_time, method)
        self._quantifier = quantifiers.repeated(
            self._called(), self._quantifier, least, most, self._counted, window_time_ms
        )
        self._counted = True
        return self

    def _between(self, method: str, inner: Contiguity) -> Self:
        self._refuse_if_negated(method)
        self._quantifier = quantifiers.with_inner(
            self._called(), self._quantifier, inner, self._counted
        )
        return self

    def _refuse_if_negated(self, method: str) -> None:
        if self._negated:
            raise MalformedPatternError(
                f"{self._called()} must not occur, so {method}() has no meaning for it; "
                "remove the call"
            )
