"""Steps of a trace: the effects of single events on the partial matches of a pattern."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from millrace.testing.pattern_run import TimedEvent
from millrace.testing.transition_verdict import Check, Verdict

__all__ = ["Attempt", "Pruned", "Taken", "TraceStep"]

Taken = tuple[tuple[str, int], ...]
"""Events of a match or partial match: pairs of pattern name and event number."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """A transition that was tried with an event on a partial match."""

    taken: Taken
    """Events of the partial match; empty if the match would begin with the event."""
    target: str
    """Label of the target: a pattern's name, with a number for all but its first occurrence."""
    verdict: Verdict
    because: tuple[Check, ...] = ()
    """Conditions that decided against the transition."""
    by: str = ""
    """Pattern that closed the transition: a guard, a loop that is over, or a greedy loop."""


@dataclass(frozen=True, slots=True)
class Pruned:
    """A match or partial match that the skip strategy removed."""

    taken: Taken
    match: Taken
    """Match in whose favour the other one was removed."""


@dataclass(slots=True)
class TraceStep:
    """Effects of one event, or of the passing of time."""

    timestamp: int
    """Time of the step, in ms since the Unix epoch."""
    key: Any = None
    event: TimedEvent | None = None
    """The event; None for the passing of time."""
    attempts: list[Attempt] = field(default_factory=list)
    found: list[Taken] = field(default_factory=list)
    """Emitted matches."""
    held_back: list[Taken] = field(default_factory=list)
    """Matches that wait, because of the skip strategy, for matches that began earlier."""
    pruned: list[Pruned] = field(default_factory=list)
    timed_out: list[Taken] = field(default_factory=list)
    closed: list[tuple[Taken, str]] = field(default_factory=list)
    """Transitions of partial matches that time has closed (`WithinType.PREVIOUS_AND_CURRENT`)."""
