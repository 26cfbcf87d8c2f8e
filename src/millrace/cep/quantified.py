"""The methods of a pattern that say how often a part occurs.

Semantics: Flink docs, "FlinkCEP", sections Quantifiers and Contiguity within looping patterns.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self

from millrace.cep import quantifiers
from millrace.cep.pattern_arguments import ConditionLike, checked_condition
from millrace.common.errors import MalformedPatternError
from millrace.common.pattern_conditions import Condition
from millrace.common.pattern_model import ONCE, Contiguity, Quantifier


class Quantified(ABC):
    """A part of a pattern that occurs once, unless it is told otherwise."""

    def __init__(self, negated: bool) -> None:
        self._negated = negated
        self._quantifier = ONCE
        self._counted = False

    @abstractmethod
    def _called(self) -> str:
        """What errors call this part."""

    @abstractmethod
    def _check_optional(self, quantifier: Quantifier) -> None:
        """Raises MalformedPatternError if it may not be left out because of what is before it."""

    def times(self, times: int, to_times: int | None = None) -> Self:
        """So many times, or from so many to so many; from 0 means that it is optional.

        Example:
            >>> from millrace.cep import Pattern
            >>> Pattern.begin("a").times(2, 4).get_quantifier().most
            4
        """
        if to_times is None:
            least = most = quantifiers.checked_count("times", times)
        else:
            least, most = quantifiers.checked_range(times, to_times)
        self._repeat("times", max(least, 1), most)
        return self if least else self.optional()

    def times_or_more(self, times: int) -> Self:
        """At least so many times.

        Example:
            >>> from millrace.cep import Pattern
            >>> Pattern.begin("a").times_or_more(2).get_quantifier().most is None
            True
        """
        least = quantifiers.checked_count("times_or_more", times)
        return self._repeat("times_or_more", least, None)

    def one_or_more(self) -> Self:
        """At least once. Bound it by `until` or `within`, or its events are kept for good.

        Example:
            >>> from millrace.cep import Pattern
            >>> Pattern.begin("a").one_or_more().get_quantifier().least
            1
        """
        return self._repeat("one_or_more", 1, None)

    def optional(self) -> Self:
        """It may be left out.

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
        """It takes every event it can: an event that could also be of the next part is of this.

        Example:
            >>> from millrace.cep import Pattern
            >>> Pattern.begin("a").one_or_more().greedy().get_quantifier().greedy
            True
        """
        self._refuse_if_negated("greedy")
        self._quantifier = quantifiers.greedy(self._called(), self._quantifier, self._counted)
        return self

    def consecutive(self) -> Self:
        """Nothing may lie between its occurrences (else: what is not of this part may).

        Example:
            >>> from millrace.cep import Pattern
            >>> Pattern.begin("a").times(3).consecutive().get_quantifier().inner
            <Contiguity.STRICT: 'next'>
        """
        return self._between("consecutive", Contiguity.STRICT)

    def allow_combinations(self) -> Self:
        """Anything may lie between its occurrences, also events that could have been one.

        Example:
            >>> from millrace.cep import Pattern
            >>> Pattern.begin("a").times(3).allow_combinations().get_quantifier().inner
            <Contiguity.ANY: 'followed_by_any'>
        """
        return self._between("allow_combinations", Contiguity.ANY)

    def until(self, condition: ConditionLike) -> Self:
        """An event for which this is true ends the loop, and is not part of it.

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
        """What ends the loop."""
        return self._quantifier.until

    def get_quantifier(self) -> Quantifier:
        """How often this part occurs."""
        return self._quantifier

    def _repeat(self, method: str, least: int, most: int | None) -> Self:
        self._refuse_if_negated(method)
        self._quantifier = quantifiers.repeated(
            self._called(), self._quantifier, least, most, self._counted
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
                f"{self._called()} must not occur, so {method}() says nothing about it; leave it "
                "away"
            )
