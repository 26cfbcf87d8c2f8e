"""Positions and transitions of a compiled pattern.

A position stands for one occurrence of an event of the pattern that has to be distinguished. Its
transitions lead to the positions of the events that may come next. This is a position automaton
(V. M. Glushkov, "The abstract theory of automata", 1961) whose transitions also say which events
may lie between two events of a match.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from millrace.common.functions.pattern_conditions import Condition
from millrace.runtime.cep.pattern_model import Contiguity

__all__ = ["FINISH", "Guard", "PatternPosition", "Transition"]

FINISH = "$end"
"""Label of the end of a pattern, the target of transitions that complete a match."""
NUMBERED = "\t"
"""Separator between the pattern's name and suffixes in the names of states in checkpoints. A
pattern's name does not contain it."""


@dataclass(frozen=True, slots=True)
class Guard:
    """An event that must not occur."""

    name: str
    """Name of the pattern with the condition."""
    condition: Condition


@dataclass(eq=False, slots=True)
class PatternPosition:
    """One occurrence of an event in the pattern."""

    path: tuple[int, ...]
    """Path in the pattern: number of the part, of its occurrence, and so on inwards."""
    name: str
    """Name of the position's pattern."""
    condition: Condition | None
    """Condition of the event. None for any event."""
    refused: tuple[Guard, ...] = ()
    """The ``until`` conditions of the loops around the position. Their events are not taken."""
    window_time: int | None = None
    """Upper bound (exclusive) of the time since the event before, in ms."""
    transitions: tuple[Transition, ...] = ()
    number: int = 0
    """Index in the order of the pattern."""

    @property
    def label(self) -> str:
        """Name of the position, with a number for all but the first occurrence: ``b``, ``b[2]``."""
        number = self._occurrence()
        return f"{self.name}[{number}]" if number else self.name

    @property
    def checkpoint_name(self) -> str:
        """Unique name of the position in checkpoints."""
        number = self._occurrence()
        return f"{self.name}{NUMBERED}{number}" if number else self.name

    def _occurrence(self) -> str:
        occurrences = self.path[1::2]
        return ".".join(str(number + 1) for number in occurrences) if any(occurrences) else ""

    @property
    def accepting(self) -> bool:
        """Whether the match is complete as soon as the event is taken."""
        return any(transition.at_once for transition in self.transitions)

    def __repr__(self) -> str:
        return f"<position {self.label}>"


@dataclass(frozen=True, eq=False, slots=True)
class Transition:
    """A transition from a position to the next one, or to the end of the pattern (Flink:
    ``StateTransition``). It is open until an event or time closes it."""

    target: PatternPosition | None
    """Next position. None for the end of the pattern."""
    contiguity: Contiguity | None = None
    """Contiguity with the event before. None if the compiler has not decided it yet."""
    unless: tuple[Guard, ...] = ()
    """Events that close the transition ("not_followed_by")."""
    not_next: tuple[Guard, ...] = ()
    """Events that close the transition if they come at once ("not_next")."""
    until: tuple[Guard, ...] = ()
    """The ``until`` conditions of the loops that the transition stays in. Their events close it."""
    yields_to: tuple[PatternPosition, ...] = ()
    """Positions of greedy loops. An event that one of them takes closes the transition."""
    greedy: bool = False
    """Whether the transition stays in a greedy loop. A matching event is then taken even if a
    ``not_next`` after the loop forbids it."""
    window_time: int | None = None
    """Ms after the event before at which the transition closes. None if never."""
    waited: Transition | None = field(default=None, compare=False)
    """Transition that replaces this one after an event was skipped. None if this one stays."""
    ordinal: int = 0
    """Index among the transitions from one position to the same target."""

    @property
    def label(self) -> str:
        """Label of the transition's target."""
        return FINISH if self.target is None else self.target.label

    @property
    def checkpoint_name(self) -> str:
        """Name of the transition in checkpoints, unique among the transitions from its position.
        The name changes if an event has been skipped."""
        mark = NUMBERED if self.target is None else self.target.checkpoint_name
        if self.ordinal:
            mark += f"{NUMBERED}{NUMBERED}{self.ordinal}"
        return f"{mark}{NUMBERED}!" if self.not_next else mark

    @property
    def at_once(self) -> bool:
        """Whether the transition leads to the end immediately, without a condition to wait for."""
        return self.target is None and not self.unless and not self.not_next

    @property
    def pending(self) -> bool:
        """Whether the transition leads to the end of the pattern once the pattern's time is
        over."""
        return self.target is None and bool(self.unless)

    def after_waiting(self) -> Transition:
        """The transition as it is after an event was skipped."""
        return self.waited or self

    def entered(self, contiguity: Contiguity) -> Transition:
        """A copy with the given contiguity, if the transition has none yet."""
        return self if self.contiguity is not None else replace(self, contiguity=contiguity)

    def guarded(self, guard: Guard, at_once: bool) -> Transition:
        """A copy that is closed by an event of the guard: by any such event, or with ``at_once``
        only by the very next event.
        """
        if at_once:
            return replace(self, not_next=(guard, *self.not_next))
        return replace(self, unless=(guard, *self.unless))

    def yielding(self, position: PatternPosition) -> Transition:
        """A copy that is closed by events which the greedy ``position`` takes."""
        return replace(self, yields_to=(position, *self.yields_to))

    def ended_by(self, guard: Guard) -> Transition:
        """A copy that is closed by the ``until`` condition of a loop."""
        return replace(self, until=(guard, *self.until))

    def instead_of(self, transition: Transition) -> Transition:
        """A copy that replaces ``transition``: the events that close ``transition`` close the
        copy, too."""
        return replace(
            self,
            unless=self.unless + transition.unless,
            not_next=self.not_next + transition.not_next,
            until=self.until + transition.until,
            yields_to=self.yields_to + transition.yields_to,
        )
