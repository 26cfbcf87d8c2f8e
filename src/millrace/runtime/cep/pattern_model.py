"""Pattern model: plain data that the API builds and that the matcher is compiled from.

Semantics: Flink docs, "FlinkCEP", section The Pattern API. SQL's ``MATCH_RECOGNIZE`` can be said
with the same data.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass, field

from millrace.common.functions.pattern_conditions import Condition
from millrace.runtime.cep.after_match_skip_strategy import AfterMatchSkipStrategy

__all__ = [
    "Contiguity",
    "Event",
    "EventPattern",
    "Group",
    "Part",
    "Quantifier",
    "WithinType",
]


class Contiguity(enum.Enum):
    """Whether other events may lie between an event and the previous one (Flink docs: Combining
    Patterns).

    The values are the words of the API.
    """

    STRICT = "next"
    """No other events."""
    RELAXED = "followed_by"
    """Events that could not have been taken instead."""
    ANY = "followed_by_any"
    """Any events. An event that could have been taken may be skipped in a second try."""


class WithinType(enum.Enum):
    """Kind of span that `Pattern.within` limits."""

    FIRST_AND_LAST = "first and last"
    """Time from the first event of a match to the last."""
    PREVIOUS_AND_CURRENT = "previous and current"
    """Time from the event before to the event of this pattern."""


@dataclass(frozen=True, slots=True)
class Quantifier:
    """Number of occurrences of a pattern."""

    least: int = 1
    most: int | None = 1
    """Maximum number of occurrences. None if there is no limit."""
    optional: bool = False
    """Whether the pattern may have no occurrence at all."""
    greedy: bool = False
    """Whether the next pattern has to wait as long as this one can continue. No effect if
    `exact`."""
    inner: Contiguity = Contiguity.RELAXED
    """Contiguity between the occurrences."""
    until: Condition | None = None
    """Condition whose event ends the loop. The event is not part of the loop."""
    window_time: int | None = None
    """Upper bound (exclusive) of the time between occurrences, in ms."""

    @property
    def exact(self) -> bool:
        """Whether the number of occurrences is fixed and at least two, so that `greedy` has no
        effect.
        """
        return self.most == self.least > 1


ONCE = Quantifier()


@dataclass(frozen=True, slots=True)
class Event:
    """One event, or several occurrences of it: ``Pattern.begin("a").where(...)``."""

    name: str
    condition: Condition | None = None
    """Condition of the event. None for any event."""
    contiguity: Contiguity = Contiguity.RELAXED
    """Contiguity with the event before. No effect for the first event."""
    negated: bool = False
    """Whether the event must not occur: with `STRICT` not as the next event, with `RELAXED` not
    before the following pattern."""
    quantifier: Quantifier = ONCE
    window_time: int | None = None
    """Upper bound (exclusive) of the time since the event before, in ms
    (`WithinType.PREVIOUS_AND_CURRENT`)."""


@dataclass(frozen=True, slots=True)
class Group:
    """A sequence of patterns with a common quantifier."""

    parts: tuple[Part, ...]
    contiguity: Contiguity = Contiguity.RELAXED
    quantifier: Quantifier = ONCE
    window_time: int | None = None


Part = Event | Group


@dataclass(frozen=True, slots=True)
class EventPattern:
    """A complete pattern, as a sequence of events and groups.

    Example:
        >>> pattern = EventPattern((Event("a"), Group((Event("b"), Event("c")))))
        >>> [event.name for event in pattern.events()]
        ['a', 'b', 'c']
    """

    parts: tuple[Part, ...]
    within: int | None = None
    """Upper bound (exclusive) of the time from the first event of a match to the last, in ms."""
    skip: AfterMatchSkipStrategy = field(default_factory=AfterMatchSkipStrategy.no_skip)

    def events(self) -> Iterator[Event]:
        """All events of the pattern, including those in groups, in the order of the program."""
        return _events(self.parts)

    def conditions(self) -> Iterator[Condition]:
        """All elementary conditions of the pattern, without duplicates, including ``until``
        conditions and the conditions of negated patterns.
        """
        leaves = {id(leaf): leaf for c in _conditions(self.parts) for leaf in c.leaves()}
        yield from leaves.values()


def _conditions(parts: tuple[Part, ...]) -> Iterator[Condition]:
    for part in parts:
        if isinstance(part, Group):
            yield from _conditions(part.parts)
        elif part.condition is not None:
            yield part.condition
        if part.quantifier.until is not None:
            yield part.quantifier.until


def _events(parts: tuple[Part, ...]) -> Iterator[Event]:
    for part in parts:
        if isinstance(part, Group):
            yield from _events(part.parts)
        else:
            yield part
