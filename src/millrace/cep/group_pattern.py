"""Parts of a pattern that are quantified together.

Semantics: Flink docs, "FlinkCEP", section Groups of patterns.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NoReturn

from millrace.cep.pattern import Pattern
from millrace.cep.pattern_arguments import ConditionLike
from millrace.common.after_match_skip_strategy import AfterMatchSkipStrategy
from millrace.common.errors import MalformedPatternError
from millrace.common.pattern_model import Contiguity, Group, Part


class GroupPattern(Pattern):
    """A part that is itself a pattern. Flink: class ``GroupPattern``.

    Made by giving a pattern to `Pattern.begin`, `next`, `followed_by` or `followed_by_any`; it may
    be repeated, optional and limited in time, but not greedy, and has no condition of its own.

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
        super().__init__("", previous, contiguity, False, skip)
        self._group = group
        if group.get_after_match_skip_strategy() != AfterMatchSkipStrategy.no_skip():
            raise MalformedPatternError(
                f"{self._called()} has a skip strategy, but it is matches of the whole pattern "
                "that are skipped; give it to the outermost begin()"
            )

    def get_raw_pattern(self) -> Pattern:
        """The pattern that the group is made of."""
        return self._group

    def where(self, condition: ConditionLike) -> NoReturn:
        """Not for groups."""
        self._refuse_condition("where")

    def or_(self, condition: ConditionLike) -> NoReturn:
        """Not for groups."""
        self._refuse_condition("or_")

    def subtype(self, subtype_class: type) -> NoReturn:
        """Not for groups."""
        self._refuse_condition("subtype")

    def greedy(self) -> NoReturn:
        """Not for groups."""
        raise MalformedPatternError(
            f"{self._called()} cannot be greedy; only single patterns can, say it of one of its "
            "parts"
        )

    def _refuse_condition(self, method: str) -> NoReturn:
        raise MalformedPatternError(
            f"{self._called()} has no condition of its own; call {method}() on the parts in it"
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
