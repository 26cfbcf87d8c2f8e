"""`AfterMatchSkipStrategy`: which overlapping matches are discarded after a match.

Semantics: Flink docs, "FlinkCEP", section After Match Skip Strategy.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from millrace.common.errors import JobDefinitionError

__all__ = ["AfterMatchSkipStrategy", "Skip"]


class Skip(enum.Enum):
    """Skip strategies, with the names of Flink's methods."""

    NO_SKIP = "no_skip"
    TO_NEXT = "skip_to_next"
    PAST_LAST_EVENT = "skip_past_last_event"
    TO_FIRST = "skip_to_first"
    TO_LAST = "skip_to_last"


@dataclass(frozen=True, slots=True)
class AfterMatchSkipStrategy:
    """Decides which matches and partial matches are discarded after a match.

    Of overlapping matches, the one that begins first wins. So, except with `no_skip`, a complete
    match is emitted only when no partial match that began earlier can still complete.

    Example:
        >>> AfterMatchSkipStrategy.skip_to_first("b")
        AfterMatchSkipStrategy.skip_to_first('b')
    """

    kind: Skip = Skip.NO_SKIP
    pattern_name: str | None = None
    """Name of the pattern whose events `skip_to_first` and `skip_to_last` skip to."""
    throws: bool = False
    """Whether a missing event to skip to is an error: see `throw_exception_on_miss`."""

    @staticmethod
    def no_skip() -> AfterMatchSkipStrategy:
        """Emit every possible match and discard none."""
        return AfterMatchSkipStrategy()

    @staticmethod
    def skip_to_next() -> AfterMatchSkipStrategy:
        """Discard the other matches that begin with the same event as the match."""
        return AfterMatchSkipStrategy(Skip.TO_NEXT)

    @staticmethod
    def skip_past_last_event() -> AfterMatchSkipStrategy:
        """Discard the other matches that begin before or at the match's last event."""
        return AfterMatchSkipStrategy(Skip.PAST_LAST_EVENT)

    @staticmethod
    def skip_to_first(pattern_name: str) -> AfterMatchSkipStrategy:
        """Discard the other matches that begin before the first event of this pattern in the
        match."""
        return AfterMatchSkipStrategy(Skip.TO_FIRST, _checked(pattern_name))

    @staticmethod
    def skip_to_last(pattern_name: str) -> AfterMatchSkipStrategy:
        """Discard the other matches that begin before the last event of this pattern in the
        match."""
        return AfterMatchSkipStrategy(Skip.TO_LAST, _checked(pattern_name))

    def throw_exception_on_miss(self) -> AfterMatchSkipStrategy:
        """The same strategy, but the job fails if the match has no event to skip to.

        That is when a match has no event of that pattern, or begins with the event to skip to. By
        default nothing is skipped in these cases.

        Raises:
            JobDefinitionError: the strategy is not `skip_to_first` or `skip_to_last`.
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
