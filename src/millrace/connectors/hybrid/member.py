"""One source of a `HybridSource`, and the messages between its enumerator and readers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from millrace.common.errors import JobDefinitionError
from millrace.common.source import (
    Boundedness,
    Source,
    SourceEvent,
    SourceSplit,
    SplitEnumerator,
)

__all__ = ["HybridSplit", "SourceListEntry", "MemberEvent", "MemberRequest"]


@dataclass(frozen=True)
class SourceListEntry:
    """A source, or a function that makes it when its turn comes."""

    index: int
    boundedness: Boundedness
    declared: Source[Any] | None = None
    """The source; None if the factory makes it."""
    factory: Callable[[Any], Source[Any]] | None = None
    switch_position: Callable[[Any], Any] | None = None

    def position_after(self, previous: SplitEnumerator) -> Any:
        """Start position, derived from the enumerator of the previous source; None if the entry has
        no function that derives it.
        """
        return None if self.switch_position is None else self.switch_position(previous)

    def source(self, position: Any) -> Source[Any]:
        """The source of this entry.

        Raises:
            JobDefinitionError: the factory gave something else.
        """
        if self.declared is not None:
            return self.declared
        assert self.factory is not None
        made = self.factory(position)
        if not isinstance(made, Source) or made.boundedness is not self.boundedness:
            raise JobDefinitionError(
                f"the factory of source {self.index} of the HybridSource must return a "
                f"source that is {self.boundedness.name}, as declared in add_source(); it "
                f"returned {made!r}"
            )
        return made


@dataclass(frozen=True)
class HybridSplit(SourceSplit):
    """A split of one of the sources."""

    index: int
    """Index of the source."""
    position: Any
    """Start position of the source, which its reader needs."""
    split: Any


@dataclass(frozen=True)
class MemberEvent(SourceEvent):
    """An event of a member's enumerator or reader; it also tells readers the current source."""

    index: int
    position: Any = None
    event: SourceEvent | None = None


@dataclass(frozen=True)
class MemberRequest(SourceEvent):
    """Request of a reader without splits for the current source."""
