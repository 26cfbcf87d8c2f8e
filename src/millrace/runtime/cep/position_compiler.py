"""Compiles a pattern to its positions and transitions.

A pattern is compiled from its end. Each part gets the transitions that lead on from it, and returns
the transitions that lead into it (also those past it, if it is optional).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from millrace.common.errors import MalformedPatternError
from millrace.common.functions.pattern_conditions import Condition
from millrace.runtime.cep.pattern_model import (
    Contiguity,
    Event,
    EventPattern,
    Group,
    Part,
    Quantifier,
)
from millrace.runtime.cep.position import Guard, PatternPosition, Transition

__all__ = ["CompiledPattern", "compile_pattern"]

Path = tuple[int, ...]


class CompiledPattern:
    """Positions of a pattern in order, and the transitions into the pattern."""

    def __init__(
        self, positions: tuple[PatternPosition, ...], start: tuple[Transition, ...]
    ) -> None:
        self.positions = positions
        self.start = start


def compile_pattern(pattern: EventPattern) -> CompiledPattern:
    """Compile a pattern.

    Raises:
        MalformedPatternError: the pattern may end in ``not_followed_by`` without a limit in time,
            or has no event that could be taken.
    """
    compiler = _Compiler()
    entries = compiler.sequence(pattern.parts, (), [Transition(None, Contiguity.RELAXED)])
    positions = sorted(compiler.positions, key=lambda position: position.path)
    for number, position in enumerate(positions):
        position.number = number
    for position in positions:
        position.transitions = _finished(position.transitions)
    start = _finished(
        transition.entered(Contiguity.ANY)
        for transition in entries
        if transition.target is not None
    )
    compiled = CompiledPattern(tuple(positions), start)
    _check(compiled, pattern)
    return compiled


class _Compiler:
    def __init__(self) -> None:
        self.positions: list[PatternPosition] = []

    def sequence(
        self, parts: tuple[Part, ...], path: Path, exits: list[Transition]
    ) -> list[Transition]:
        """Transitions into a sequence of parts. Transitions to its head are still open."""
        transitions = exits
        for number in reversed(range(len(parts))):
            part = parts[number]
            if isinstance(part, Event) and part.negated:
                guard = Guard(part.name, part.condition or Condition(_anything, text="any event"))
                transitions = [_guarded(transition, part, guard) for transition in transitions]
                continue
            transitions = self._part(part, (*path, number), transitions)
            if number > 0:
                transitions = [transition.entered(part.contiguity) for transition in transitions]
        return transitions

    def _part(self, part: Part, path: Path, exits: list[Transition]) -> list[Transition]:
        if isinstance(part, Group):
            return self._group(part, path, exits)
        return self._event(part, path, exits)

    def _event(self, event: Event, path: Path, exits: list[Transition]) -> list[Transition]:
        quantifier = event.quantifier
        until = () if quantifier.until is None else (Guard(event.name, quantifier.until),)
        count = quantifier.most or quantifier.least
        greedy = quantifier.greedy and not quantifier.exact
        own = [
            PatternPosition((*path, number), event.name, event.condition, until, event.window_time)
            for number in range(count)
        ]
        for number, position in enumerate(own, start=1):
            again = own[number] if number < count else position
            looping = number < count or quantifier.most is None
            leaving = exits if number >= quantifier.least else []
            transition = Transition(
                again, quantifier.inner, until=until, greedy=greedy, window_time=event.window_time
            )
            if quantifier.window_time is not None:
                transition = _within_window_time(transition, quantifier.window_time)
            transitions = [_guarded_as(transition, exits, bool(leaving))] if looping else []
            if looping and greedy:
                leaving = [transition.yielding(again) for transition in leaving]
            position.transitions = (*transitions, *leaving)
        self.positions += own
        passing = exits if quantifier.optional else []
        if greedy:
            passing = [transition.yielding(own[0]) for transition in passing]
        return [Transition(own[0], window_time=event.window_time), *passing]

    def _group(self, group: Group, path: Path, exits: list[Transition]) -> list[Transition]:
        quantifier = group.quantifier
        before = len(self.positions)
        count = quantifier.most or quantifier.least
        entries: list[Transition] = []
        for number in reversed(range(count)):
            leaving = exits if number + 1 >= quantifier.least else []
            inner = (*path, number)
            if number == count - 1 and quantifier.most is None:
                entries = self._looping(group, inner, leaving)
            else:
                transitions = _entered_again(entries, quantifier)
                again = [
                    _guarded_as(transition, exits, bool(leaving)) for transition in transitions
                ]
                entries = self._round(group, inner, again + leaving)
        if quantifier.until is not None:
            entries = _end_by(self.positions[before:], quantifier.until, entries)
        return entries + (exits if quantifier.optional else [])

    def _round(self, group: Group, path: Path, exits: list[Transition]) -> list[Transition]:
        """Transitions into one occurrence of a group."""
        entries = self.sequence(group.parts, path, exits)
        if group.window_time is None:
            return entries
        return [
            _within_window_time(w, group.window_time) if w.contiguity is None else w
            for w in entries
        ]

    def _looping(self, group: Group, path: Path, leaving: list[Transition]) -> list[Transition]:
        """Transitions into the last occurrence of a group that may repeat without limit."""
        begin_again = PatternPosition(path, "", None)
        before = len(self.positions)
        round_again = _guarded_as(Transition(begin_again, Contiguity.RELAXED), leaving, True)
        entries = self._round(group, path, [round_again, *leaving])
        entries = [transition for transition in entries if transition.target is not begin_again]
        own = self.positions[before:]
        entered = [transition for transition in entries if transition.target in own]
        heads = _entered_again(entered, group.quantifier)
        for position in own:
            transitions: list[Transition] = []
            for transition in position.transitions:
                again = transition.target is begin_again
                transitions += (
                    [head.instead_of(transition) for head in heads] if again else [transition]
                )
            position.transitions = tuple(transitions)
        return entries


def _entered_again(entries: list[Transition], quantifier: Quantifier) -> list[Transition]:
    """The transitions into a group, changed so that they lead to the next occurrence of the
    group."""
    window_time = quantifier.window_time
    if window_time is not None:
        entries = [
            _within_window_time(w, window_time) if w.contiguity is None else w for w in entries
        ]
    return [transition.entered(quantifier.inner) for transition in entries]


def _guarded(transition: Transition, negated: Event, guard: Guard) -> Transition:
    """A transition that leads past a negated event."""
    transition = transition.guarded(guard, at_once=negated.contiguity is Contiguity.STRICT)
    if transition.target is None and negated.window_time is not None:
        return _within_window_time(transition, negated.window_time)
    return transition


def _guarded_as(again: Transition, exits: list[Transition], may_leave: bool) -> Transition:
    """A transition to the next occurrence, closed by the guards that all exits share. A negated
    event then ends the partial match, instead of only preventing it from leaving the loop."""
    unless = [g for g in exits[0].unless if all(g in transition.unless for transition in exits)]
    not_next = [g for g in exits[0].not_next if may_leave and all(g in w.not_next for w in exits)]
    return replace(again, unless=(*again.unless, *unless), not_next=(*again.not_next, *not_next))


def _within_window_time(transition: Transition, window_time: int) -> Transition:
    """A copy of the transition that closes after ``window_time`` at the latest."""
    return replace(
        transition,
        window_time=window_time
        if transition.window_time is None
        else min(window_time, transition.window_time),
    )


def _anything(value: object) -> bool:
    return True


def _end_by(
    own: list[PatternPosition], until: Condition, entries: list[Transition]
) -> list[Transition]:
    """Let an event that satisfies ``until`` end a group, and also the wait for the group. ``own``
    are the positions of the group.

    Returns:
        The transitions into the group.
    """
    guard = Guard(own[0].name, until)

    def ended(transitions: Iterable[Transition]) -> list[Transition]:
        return [
            transition.ended_by(guard) if transition.target in own else transition
            for transition in transitions
        ]

    for position in own:
        position.refused = (guard, *position.refused)
        position.transitions = tuple(ended(position.transitions))
    return ended(entries)


def _finished(transitions: Iterable[Transition]) -> tuple[Transition, ...]:
    """Transitions ordered by target, without duplicates. Each also gets the form that it has
    after an event was skipped."""
    different: dict[object, Transition] = {}
    for transition in transitions:
        different.setdefault(_facts(transition), transition)
    ordinals: Counter[PatternPosition | None] = Counter()
    finished = []
    for transition in sorted(different.values(), key=_number):
        if ordinals[transition.target]:
            transition = replace(transition, ordinal=ordinals[transition.target])
        ordinals[transition.target] += 1
        finished.append(
            replace(transition, waited=replace(transition, not_next=()))
            if transition.not_next
            else transition
        )
    return tuple(finished)


def _facts(transition: Transition) -> object:
    guards = (transition.unless, transition.not_next, transition.until)
    named = tuple(tuple(id(guard.condition) for guard in kind) for kind in guards)
    return (
        id(transition.target),
        transition.contiguity,
        named,
        tuple(map(id, transition.yields_to)),
        transition.window_time,
    )


def _number(transition: Transition) -> float:
    return float("inf") if transition.target is None else transition.target.number


def _check(compiled: CompiledPattern, pattern: EventPattern) -> None:
    for event in pattern.events():
        if not event.name.isprintable():
            raise MalformedPatternError(
                f"a pattern's name is one line that can be printed, got {event.name!r}"
            )
    if not compiled.start:
        raise MalformedPatternError("a pattern needs at least one event that is to occur")
    for position in compiled.positions:
        for transition in position.transitions:
            if transition.pending and pattern.within is None and transition.window_time is None:
                raise MalformedPatternError(
                    f"the pattern may end in not_followed_by({transition.unless[-1].name!r}), "
                    "which is only known when time is over; add within(...)"
                )
