"""What becomes of the other matches that overlap with one that was found.

Semantics: Flink docs, "FlinkCEP", section After Match Skip Strategy.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from millrace.common.errors import JobDefinitionError

__all__ = ["AfterMatchSkipStrategy", "Skip"]


class Skip(enum.Enum):
    """The kinds of strategies."""

    NO_SKIP = "no_skip"
    TO_NEXT = "skip_to_next"
    PAST_LAST_EVENT = "skip_past_last_event"
    TO_FIRST = "skip_to_first"
    TO_LAST = "skip_to_last"


@dataclass(frozen=True, slots=True)
class AfterMatchSkipStrategy:
    """Which (partial) matches are thrown away once a match was found.

    Except with `no_skip`, a match is held back while a partial match that began earlier might still
    become one: of overlapping matches the one that begins first wins.

    Example:
        >>> AfterMatchSkipStrategy.skip_to_first("b")
        AfterMatchSkipStrategy.skip_to_first('b')
    """

    kind: Skip = Skip.NO_SKIP
    pattern_name: str | None = None
    throws: bool = False
    """Whether a match without events for ``pattern_name`` is an error."""

    @staticmethod
    def no_skip() -> AfterMatchSkipStrategy:
        """Every possible match is emitted."""
        return AfterMatchSkipStrategy()

    @staticmethod
    def skip_to_next() -> AfterMatchSkipStrategy:
        """Throws away what begins with the same event as the match."""
        return AfterMatchSkipStrategy(Skip.TO_NEXT)

    @staticmethod
    def skip_past_last_event() -> AfterMatchSkipStrategy:
        """Throws away what begins before the match has ended."""
        return AfterMatchSkipStrategy(Skip.PAST_LAST_EVENT)

    @staticmethod
    def skip_to_first(pattern_name: str) -> AfterMatchSkipStrategy:
        """Throws away what begins before the match's first event of that pattern."""
        return AfterMatchSkipStrategy(Skip.TO_FIRST, _checked(pattern_name))

    @staticmethod
    def skip_to_last(pattern_name: str) -> AfterMatchSkipStrategy:
        """Throws away what begins before the match's last event of that pattern."""
        return AfterMatchSkipStrategy(Skip.TO_LAST, _checked(pattern_name))

    def throw_exception_on_miss(self) -> AfterMatchSkipStrategy:
        """The same, but it is an error if a match has no event of that pattern, or begins with the
        event to skip to (so that nothing would be skipped). Without, nothing is skipped then.

        Raises:
            JobDefinitionError: the strategy skips to no event of a pattern.
        """
        if self.pattern_name is None:
            raise JobDefinitionError(f"{self!r} cannot miss; only skip_to_first and skip_to_last")
        return AfterMatchSkipStrategy(self.kind, self.pattern_name, throws=True)

    def __repr__(self) -> str:
        name = "" if self.pattern_name is None else repr(self.pattern_name)
        thrown = ".throw_exception_on_miss()" if self.throws else ""
        return f"AfterMatchSkipStrategy.{self.kind.value}({name}){thrown}"


def _checked(pattern_name: str) -> str:
    if not isinstance(pattern_name, str) or not pattern_name:
        raise JobDefinitionError(f"a skip strategy takes a pattern's name, got {pattern_name!r}")
    return pattern_name
