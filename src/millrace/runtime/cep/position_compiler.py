"""From a pattern to its positions and ways.

A pattern is compiled from its end: each part is given the ways that lead on from it, and returns
the ways that lead into it (those past it too, if it may be left out).
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
from millrace.runtime.cep.position import Guard, Position, Way

__all__ = ["CompiledPattern", "compile_pattern"]

Path = tuple[int, ...]


class CompiledPattern:
    """The positions of a pattern in its order, and the ways into it."""

    def __init__(self, positions: tuple[Position, ...], start: tuple[Way, ...]) -> None:
        self.positions = positions
        self.start = start


def compile_pattern(pattern: EventPattern) -> CompiledPattern:
    """Compile a pattern.

    Raises:
        MalformedPatternError: it may end in ``not_followed_by`` without a limit in time, or it has
            nothing that could be taken.
    """
    compiler = _Compiler()
    entries = compiler.sequence(pattern.parts, (), [Way(None, Contiguity.RELAXED)])
    positions = sorted(compiler.positions, key=lambda position: position.path)
    for number, position in enumerate(positions):
        position.number = number
    for position in positions:
        position.ways = _finished(position.ways)
    start = _finished(way.entered(Contiguity.ANY) for way in entries if way.target is not None)
    compiled = CompiledPattern(tuple(positions), start)
    _check(compiled, pattern)
    return compiled


class _Compiler:
    def __init__(self) -> None:
        self.positions: list[Position] = []

    def sequence(self, parts: tuple[Part, ...], path: Path, exits: list[Way]) -> list[Way]:
        """The ways into parts in a row; those to the head of the row are still open."""
        ways = exits
        for number in reversed(range(len(parts))):
            part = parts[number]
            if isinstance(part, Event) and part.negated:
                guard = Guard(part.name, part.condition or Condition(_anything, text="any event"))
                ways = [_guarded(way, part, guard) for way in ways]
                continue
            ways = self._part(part, (*path, number), ways)
            if number > 0:
                ways = [way.entered(part.contiguity) for way in ways]
        return ways

    def _part(self, part: Part, path: Path, exits: list[Way]) -> list[Way]:
        if isinstance(part, Group):
            return self._group(part, path, exits)
        return self._event(part, path, exits)

    def _event(self, event: Event, path: Path, exits: list[Way]) -> list[Way]:
        quantifier = event.quantifier
        until = () if quantifier.until is None else (Guard(event.name, quantifier.until),)
        count = quantifier.most or quantifier.least
        greedy = quantifier.greedy and not quantifier.exact
        own = [
            Position((*path, number), event.name, event.condition, until, event.gap)
            for number in range(count)
        ]
        for number, position in enumerate(own, start=1):
            again = own[number] if number < count else position
            looping = number < count or quantifier.most is None
            leaving = exits if number >= quantifier.least else []
            way = Way(again, quantifier.inner, until=until, greedy=greedy, gap=event.gap)
            if quantifier.gap is not None:
                way = _within_gap(way, quantifier.gap)
            ways = [_guarded_as(way, exits, bool(leaving))] if looping else []
            if looping and greedy:
                leaving = [way.yielding(again) for way in leaving]
            position.ways = (*ways, *leaving)
        self.positions += own
        passing = exits if quantifier.optional else []
        if greedy:
            passing = [way.yielding(own[0]) for way in passing]
        return [Way(own[0], gap=event.gap), *passing]

    def _group(self, group: Group, path: Path, exits: list[Way]) -> list[Way]:
        quantifier = group.quantifier
        before = len(self.positions)
        count = quantifier.most or quantifier.least
        entries: list[Way] = []
        for number in reversed(range(count)):
            leaving = exits if number + 1 >= quantifier.least else []
            inner = (*path, number)
            if number == count - 1 and quantifier.most is None:
                entries = self._looping(group, inner, leaving)
            else:
                ways = _entered_again(entries, quantifier)
                again = [_guarded_as(way, exits, bool(leaving)) for way in ways]
                entries = self._round(group, inner, again + leaving)
        if quantifier.until is not None:
            entries = _end_by(self.positions[before:], quantifier.until, entries)
        return entries + (exits if quantifier.optional else [])

    def _round(self, group: Group, path: Path, exits: list[Way]) -> list[Way]:
        """One occurrence of a group."""
        entries = self.sequence(group.parts, path, exits)
        if group.gap is None:
            return entries
        return [_within_gap(w, group.gap) if w.contiguity is None else w for w in entries]

    def _looping(self, group: Group, path: Path, leaving: list[Way]) -> list[Way]:
        """The last occurrence of a group that can begin again without end."""
        begin_again = Position(path, "", None)
        before = len(self.positions)
        round_again = _guarded_as(Way(begin_again, Contiguity.RELAXED), leaving, True)
        entries = self._round(group, path, [round_again, *leaving])
        entries = [way for way in entries if way.target is not begin_again]
        own = self.positions[before:]
        entered = [way for way in entries if way.target in own]
        heads = _entered_again(entered, group.quantifier)
        for position in own:
            ways: list[Way] = []
            for way in position.ways:
                again = way.target is begin_again
                ways += [head.instead_of(way) for head in heads] if again else [way]
            position.ways = tuple(ways)
        return entries


def _entered_again(entries: list[Way], quantifier: Quantifier) -> list[Way]:
    """The ways into a group as those into its next occurrence."""
    gap = quantifier.gap
    if gap is not None:
        entries = [_within_gap(w, gap) if w.contiguity is None else w for w in entries]
    return [way.entered(quantifier.inner) for way in entries]


def _guarded(way: Way, negated: Event, guard: Guard) -> Way:
    """A way that leads past an event that must not occur."""
    way = way.guarded(guard, at_once=negated.contiguity is Contiguity.STRICT)
    if way.target is None and negated.gap is not None:
        return _within_gap(way, negated.gap)
    return way


def _guarded_as(again: Way, exits: list[Way], may_leave: bool) -> Way:
    """A way to the next occurrence, closed by what closes every way out: an event that must not
    occur ends the partial match, and does not only keep it from leaving the loop."""
    unless = [g for g in exits[0].unless if all(g in way.unless for way in exits)]
    not_next = [g for g in exits[0].not_next if may_leave and all(g in w.not_next for w in exits)]
    return replace(again, unless=(*again.unless, *unless), not_next=(*again.not_next, *not_next))


def _within_gap(way: Way, gap: int) -> Way:
    """A way that closes by itself, if it does not do so earlier anyway."""
    return replace(way, gap=gap if way.gap is None else min(gap, way.gap))


def _anything(value: object) -> bool:
    return True


def _end_by(own: list[Position], until: Condition, entries: list[Way]) -> list[Way]:
    """Let an event end the group that consists of the positions ``own``, and the wait for it.

    Returns:
        The ways into the group.
    """
    guard = Guard(own[0].name, until)

    def ended(ways: Iterable[Way]) -> list[Way]:
        return [way.ended_by(guard) if way.target in own else way for way in ways]

    for position in own:
        position.refused = (guard, *position.refused)
        position.ways = tuple(ended(position.ways))
    return ended(entries)


def _finished(ways: Iterable[Way]) -> tuple[Way, ...]:
    """Ways in the order of where they lead, each once, with what they are after waiting."""
    different: dict[object, Way] = {}
    for way in ways:
        different.setdefault(_facts(way), way)
    ordinals: Counter[Position | None] = Counter()
    finished = []
    for way in sorted(different.values(), key=_number):
        if ordinals[way.target]:
            way = replace(way, ordinal=ordinals[way.target])
        ordinals[way.target] += 1
        finished.append(replace(way, waited=replace(way, not_next=())) if way.not_next else way)
    return tuple(finished)


def _facts(way: Way) -> object:
    guards = (way.unless, way.not_next, way.until)
    named = tuple(tuple(id(guard.condition) for guard in kind) for kind in guards)
    return (id(way.target), way.contiguity, named, tuple(map(id, way.yields_to)), way.gap)


def _number(way: Way) -> float:
    return float("inf") if way.target is None else way.target.number


def _check(compiled: CompiledPattern, pattern: EventPattern) -> None:
    for event in pattern.events():
        if not event.name.isprintable():
            raise MalformedPatternError(
                f"a pattern's name is one line that can be printed, got {event.name!r}"
            )
    if not compiled.start:
        raise MalformedPatternError("a pattern needs at least one event that is to occur")
    for position in compiled.positions:
        for way in position.ways:
            if way.pending and pattern.within is None and way.gap is None:
                raise MalformedPatternError(
                    f"the pattern may end in not_followed_by({way.unless[-1].name!r}), which is "
                    "only known when time is over; add within(...)"
                )
