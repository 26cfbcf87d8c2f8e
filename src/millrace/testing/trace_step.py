"""Steps of a trace: the effects of single events on the partial matches of a pattern."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from millrace.testing.pattern_run import TimedEvent
from millrace.testing.transition_verdict import Check, Verdict

__all__ = ["Attempt", "Pruned", "Taken", "TraceStep"]

Taken = tuple[tuple[str, int], ...]
"""What a match or partial match has: names of patterns and numbers of events."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """A transition that was tried with an event on a partial match."""

    taken: Taken
    """What the partial match had; nothing, for one that would begin with the event."""
    target: str
    """Label of the target: a pattern's name, with a number for all but its first occurrence."""
    verdict: Verdict
    because: tuple[Check, ...] = ()
    """The conditions that decided against it."""
    by: str = ""
    """The pattern that closed the transition: a guard, a loop that is over, a greedy loop."""


@dataclass(frozen=True, slots=True)
class Pruned:
    """A match or partial match that the skip strategy removed."""

    taken: Taken
    match: Taken
    """In favour of this match."""


@dataclass(slots=True)
class TraceStep:
    """Effects of one event, or of the passing of time."""

    timestamp: int
    """When, ms since the epoch."""
    key: Any = None
    event: TimedEvent | None = None
    """None: it was time that did it."""
    attempts: list[Attempt] = field(default_factory=list)
    found: list[Taken] = field(default_factory=list)
    """Matches that were emitted."""
    held_back: list[Taken] = field(default_factory=list)
    """Matches that wait, because of the skip strategy, for what began earlier."""
    pruned: list[Pruned] = field(default_factory=list)
    timed_out: list[Taken] = field(default_factory=list)
    closed: list[tuple[Taken, str]] = field(default_factory=list)
    """Ways whose own time was over (`WithinType.PREVIOUS_AND_CURRENT`)."""
