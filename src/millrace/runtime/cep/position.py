"""What a pattern is compiled to: positions, and the ways from one to the next.

A position stands for one occurrence of an event of the pattern that has to be distinguished. Which
events may come next is said by its ways on. This is a position automaton (V. M. Glushkov, "The
abstract theory of automata", 1961) whose arrows also say what may lie between two events.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from millrace.common.functions.pattern_conditions import Condition
from millrace.runtime.cep.pattern_model import Contiguity

__all__ = ["FINISH", "Guard", "Position", "Way"]

FINISH = "$end"
"""The label of the end of a pattern, where a way may lead instead of to a position."""
NUMBERED = "\t"
"""Sets apart, in the names that states have in checkpoints, what is no part of a pattern's name:
those have no such character."""


@dataclass(frozen=True, slots=True)
class Guard:
    """An event that must not occur."""

    name: str
    """Of the pattern that says so."""
    condition: Condition


@dataclass(eq=False, slots=True)
class Position:
    """One occurrence of an event of the pattern."""

    path: tuple[int, ...]
    """Where it is in the pattern: number of the part, of its occurrence, and so on inwards."""
    name: str
    """Of the pattern it belongs to."""
    condition: Condition | None
    """What its event must be; None: anything."""
    refused: tuple[Guard, ...] = ()
    """The ends ("until") of the loops it is in: such an event is not taken."""
    gap: int | None = None
    """Less than this lies between the event before and its own, ms."""
    ways: tuple[Way, ...] = ()
    number: int = 0
    """Positions are numbered in the order of the pattern."""

    @property
    def label(self) -> str:
        """Its name; with a number for all but the first occurrence: ``b``, ``b[2]``."""
        number = self._occurrence()
        return f"{self.name}[{number}]" if number else self.name

    @property
    def mark(self) -> str:
        """What it is called in checkpoints; no other position is."""
        number = self._occurrence()
        return f"{self.name}{NUMBERED}{number}" if number else self.name

    def _occurrence(self) -> str:
        occurrences = self.path[1::2]
        return ".".join(str(number + 1) for number in occurrences) if any(occurrences) else ""

    @property
    def accepting(self) -> bool:
        """Whether the match is found as soon as its event was taken."""
        return any(way.at_once for way in self.ways)

    def __repr__(self) -> str:
        return f"<position {self.label}>"


@dataclass(frozen=True, eq=False, slots=True)
class Way:
    """From a position to the next, or to the end of the pattern."""

    target: Position | None
    """None: the end."""
    contiguity: Contiguity | None = None
    """What may lie between; None: whoever builds the way on decides."""
    unless: tuple[Guard, ...] = ()
    """Events that close the way ("not_followed_by")."""
    not_next: tuple[Guard, ...] = ()
    """Events that close the way if they come at once ("not_next")."""
    until: tuple[Guard, ...] = ()
    """The ends of the loops that the way stays in: such an event closes it."""
    yields_to: tuple[Position, ...] = ()
    """Greedy loops: an event taken there closes the way."""
    greedy: bool = False
    """Whether it goes on in a greedy loop: what fits is taken, also if "not_next" behind the loop
    forbids it."""
    gap: int | None = None
    """When it closes by itself, ms after the event before."""
    waited: Way | None = field(default=None, compare=False)
    """The same way once an event has been passed over; None: it is no other."""
    ordinal: int = 0
    """Of several ways to one target, which it is."""

    @property
    def label(self) -> str:
        """The label of where it leads."""
        return FINISH if self.target is None else self.target.label

    @property
    def mark(self) -> str:
        """What it is called in checkpoints, before an event has been passed over or after that; no
        other way from its position is."""
        mark = NUMBERED if self.target is None else self.target.mark
        if self.ordinal:
            mark += f"{NUMBERED}{NUMBERED}{self.ordinal}"
        return f"{mark}{NUMBERED}!" if self.not_next else mark

    @property
    def at_once(self) -> bool:
        """Whether it leads to the end without waiting for anything."""
        return self.target is None and not self.unless and not self.not_next

    @property
    def pending(self) -> bool:
        """Whether it leads to the end when time is over."""
        return self.target is None and bool(self.unless)

    def after_waiting(self) -> Way:
        """The way once an event has been passed over."""
        return self.waited or self

    def entered(self, contiguity: Contiguity) -> Way:
        """With the contiguity set, if it is still open."""
        return self if self.contiguity is not None else replace(self, contiguity=contiguity)

    def guarded(self, guard: Guard, at_once: bool) -> Way:
        """Closed by ``guard``: by any such event, or only by the next one."""
        if at_once:
            return replace(self, not_next=(guard, *self.not_next))
        return replace(self, unless=(guard, *self.unless))

    def yielding(self, position: Position) -> Way:
        """Closed by events that the greedy ``position`` takes."""
        return replace(self, yields_to=(position, *self.yields_to))

    def ended_by(self, guard: Guard) -> Way:
        """Closed by the end of a loop."""
        return replace(self, until=(guard, *self.until))

    def instead_of(self, way: Way) -> Way:
        """This way with what closes ``way`` too: it stands where that one stood."""
        return replace(
            self,
            unless=self.unless + way.unless,
            not_next=self.not_next + way.not_next,
            until=self.until + way.until,
            yields_to=self.yields_to + way.yields_to,
        )
