"""Checks of a whole pattern that concern more than one part.

Flink makes them in ``NFACompiler`` and ``Pattern``.
"""

from __future__ import annotations

from itertools import pairwise

from millrace.common.errors import MalformedPatternError
from millrace.runtime.cep.pattern_model import Contiguity, Event, EventPattern, Group, Part


def checked(pattern: EventPattern) -> EventPattern:
    """The pattern itself; raises MalformedPatternError if no events can match it, or if its
    matches would be ambiguous."""
    _check_rows(pattern.parts)
    _check_end(pattern)
    _check_gaps(pattern)
    _check_skip(pattern)
    return pattern


def check_neighbours(before: Part, part: Part) -> None:
    """Raise MalformedPatternError if the second part may not follow the first."""
    if isinstance(part, Event) and part.negated and _can_be_empty(before):
        raise MalformedPatternError(
            f"{called(part)} must not occur, but {called(before)} before it "
            f"{_empty(before)}, so the event after which it must not occur is undetermined; "
            "write two patterns, one with the optional part and one without"
        )
    if _can_be_empty(part) and _ends_greedy(before):
        ends = "ends with a greedy part" if isinstance(before, Group) else "is greedy"
        raise MalformedPatternError(
            f"{called(part)} {_empty(part)}, but {called(before)} before it {ends}, so the "
            "number of events of the greedy part is undetermined; remove optional() or "
            "greedy()"
        )


def _can_be_empty(part: Part) -> bool:
    """Whether the part may take no event at all."""
    if part.quantifier.optional:
        return True
    return isinstance(part, Group) and all(_can_be_empty(p) for p in part.parts)


def _empty(part: Part) -> str:
    return "is optional" if part.quantifier.optional else "has only optional parts"


def _ends_greedy(part: Part) -> bool:
    return _ends_greedy(part.parts[-1]) if isinstance(part, Group) else part.quantifier.greedy


def called(part: Part) -> str:
    """Name of a part in errors."""
    if isinstance(part, Event):
        return f"pattern {part.name!r}"
    names = [repr(event.name) for event in EventPattern(part.parts).events()]
    return f"the group of {', '.join(names)}"


def _check_rows(parts: tuple[Part, ...]) -> None:
    """Check neighbours again, because methods such as `optional` may be called after the next
    part was appended."""
    for before, part in pairwise(parts):
        check_neighbours(before, part)
    for part in parts:
        if isinstance(part, Group):
            _check_rows(part.parts)


def _check_end(pattern: EventPattern) -> None:
    last = _last_event(pattern.parts)
    waits = last.negated and last.contiguity is Contiguity.RELAXED
    if waits and pattern.within is None and last.window_time is None:
        raise MalformedPatternError(
            f"the pattern ends with not_followed_by({last.name!r}) but never ends: set the "
            "time in which it must not occur, with within()"
        )


def _last_event(parts: tuple[Part, ...]) -> Event:
    last = parts[-1]
    return _last_event(last.parts) if isinstance(last, Group) else last


def _check_gaps(pattern: EventPattern) -> None:
    for part in _all_parts(pattern.parts):
        if (
            part.window_time is not None
            and pattern.within is not None
            and part.window_time > pattern.within
        ):
            raise MalformedPatternError(
                f"{called(part)} may come {part.window_time} ms after the event before, but the "
                f"whole match must take less than {pattern.within} ms; make the first limit smaller"
            )
        between = part.quantifier.window_time
        if between is not None and pattern.within is not None and between > pattern.within:
            raise MalformedPatternError(
                f"{called(part)} may occur again {between} ms later, but the whole match must take "
                f"less than {pattern.within} ms; make the first limit smaller"
            )


def _all_parts(parts: tuple[Part, ...]) -> list[Part]:
    inner = [p for part in parts if isinstance(part, Group) for p in _all_parts(part.parts)]
    return [*parts, *inner]


def _check_skip(pattern: EventPattern) -> None:
    name = pattern.skip.pattern_name
    if name is None:
        return
    events = {event.name: event for event in pattern.events()}
    if name not in events:
        raise MalformedPatternError(
            f"{pattern.skip!r} names no part of the pattern; there are "
            f"{', '.join(map(repr, events))}"
        )
    if events[name].negated:
        raise MalformedPatternError(
            f"{pattern.skip!r} names a part that must not occur, so there is no event to skip to"
        )
