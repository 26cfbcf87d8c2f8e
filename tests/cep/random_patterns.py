"""Random patterns and random events for them.

Events are strings of letters: an event "ab" satisfies the conditions a and b, so that one event
often fits several places. Each has its number in front, so that no two are equal.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from millrace.common.functions.pattern_conditions import Condition, condition_of
from millrace.runtime.cep.after_match_skip_strategy import AfterMatchSkipStrategy
from millrace.runtime.cep.pattern_model import (
    Contiguity,
    Event,
    EventPattern,
    Group,
    Part,
    Quantifier,
)

LETTERS = "abc"
GAPS = st.sampled_from([None, None, None, None, 2, 4])
CONTIGUITIES = st.sampled_from(Contiguity)


def has(letter: str) -> Condition:
    """The event has the letter."""
    condition = condition_of(lambda value: letter in value, "where")
    return replace(condition, text=letter)


def _grows(letter: str) -> Condition:
    """It has the letter, and there is no equal one among those taken for the first name."""

    def condition(value: str, context: Any) -> bool:
        before = context.get_events_for_pattern("p0")
        return letter in value and (len(before) + int(value[0])) % 2 == 0

    return replace(condition_of(condition, "where"), text=f"iterative {letter}")


PLAIN = st.sampled_from([has(letter) for letter in LETTERS])
CONDITIONS = st.one_of(PLAIN, PLAIN, PLAIN, st.sampled_from([_grows("a"), _grows("b"), None]))


@st.composite
def quantifiers(draw: st.DrawFn, loops: bool = True, greedy: bool = True) -> Quantifier:
    """Any quantifier; as often as not a plain one."""
    if draw(st.booleans()):
        return Quantifier()
    least = draw(st.sampled_from([1, 1, 2])) if loops else 1
    most = draw(st.sampled_from([None, least, least + 1])) if loops else 1
    is_loop = most != 1
    optional = draw(st.booleans())
    return Quantifier(
        least,
        most,
        optional=optional,
        greedy=greedy and (is_loop or optional) and draw(st.booleans()),
        inner=draw(CONTIGUITIES) if is_loop else Contiguity.RELAXED,
        until=draw(PLAIN) if is_loop and draw(st.integers(0, 3)) == 0 else None,
        window_time=draw(GAPS) if is_loop else None,
    )


@st.composite
def events(draw: st.DrawFn) -> Event:
    """An event that is to occur."""
    return Event(
        "",
        draw(CONDITIONS),
        draw(CONTIGUITIES),
        quantifier=draw(quantifiers()),
        window_time=draw(GAPS),
    )


@st.composite
def nots(draw: st.DrawFn) -> Event:
    """An event that must not occur."""
    how = draw(st.sampled_from([Contiguity.STRICT, Contiguity.RELAXED]))
    return Event("", draw(CONDITIONS), how, negated=True, window_time=draw(GAPS))


@st.composite
def sequences(draw: st.DrawFn, depth: int, most: int) -> tuple[Part, ...]:
    """Parts in a row, of which at least one must occur."""
    parts: list[Part] = []
    for number in range(draw(st.integers(1, most))):
        kind = draw(st.integers(0, 7))
        if kind in (0, 7) and number:
            parts.append(draw(nots()))
        elif kind == 1 and depth:
            parts.append(draw(groups(depth - 1)))
        else:
            parts.append(draw(events()))
    if not any(is_needed(part) for part in parts):
        first = parts[0]
        parts[0] = replace(first, quantifier=replace(first.quantifier, optional=False))
    return tuple(parts)


@st.composite
def groups(draw: st.DrawFn, depth: int) -> Group:
    """A group."""
    quantifier = draw(quantifiers(greedy=False))
    return Group(draw(sequences(depth, 2)), draw(CONTIGUITIES), quantifier, draw(GAPS))


def is_needed(part: Part) -> bool:
    """Whether nothing matches without it."""
    return not part.quantifier.optional and not (isinstance(part, Event) and part.negated)


def named(parts: tuple[Part, ...], names: Any) -> tuple[Part, ...]:
    """The parts with names p0, p1 and so on."""
    return tuple(
        replace(part, parts=named(part.parts, names))
        if isinstance(part, Group)
        else replace(part, name=f"p{next(names)}")
        for part in parts
    )


@st.composite
def patterns(draw: st.DrawFn, with_skip: bool = True) -> EventPattern:
    """A whole pattern; one that may end in something that must not occur has a limit in time."""
    parts = named(draw(sequences(2, 4)), iter(range(99)))
    within = draw(st.sampled_from([None, 3, 5, 8]))
    if ends_in_not(parts) and within is None:
        within = 6
    pattern = EventPattern(parts, within)
    if not with_skip:
        return pattern
    taken = [event for event in pattern.events() if not event.negated]
    # first and last differ where there are several
    repeated = [event for event in taken if event.quantifier.most != 1]
    name = draw(st.sampled_from(repeated or taken)).name
    skips = [
        AfterMatchSkipStrategy.no_skip(),
        AfterMatchSkipStrategy.skip_to_next(),
        AfterMatchSkipStrategy.skip_past_last_event(),
        AfterMatchSkipStrategy.skip_to_first(name),
        AfterMatchSkipStrategy.skip_to_last(name),
    ]
    return replace(pattern, skip=draw(st.sampled_from(skips)))


def ends_in_not(parts: tuple[Part, ...]) -> bool:
    """Whether a match may end without any event after one that must not occur."""
    for part in reversed(parts):
        if isinstance(part, Event) and part.negated:
            return True
        if isinstance(part, Group) and ends_in_not(part.parts):
            return True
        if is_needed(part):
            return False
    return False


@st.composite
def streams(draw: st.DrawFn, most: int = 7) -> list[tuple[str, int]]:
    """Events and their times, in order of time."""
    time, stream = 0, []
    letters = st.sampled_from(["a", "b", "c", "ab", "bc", "ac", "abc", ""])
    for number, value in enumerate(draw(st.lists(letters, max_size=most))):
        time += draw(st.integers(0, 2))
        stream.append((f"{number}{value}", time))
    return stream


def described(pattern: EventPattern) -> str:
    """The pattern for people, on one line."""
    limit = "" if pattern.within is None else f" within {pattern.within}"
    return f"{_row(pattern.parts)}{limit} {pattern.skip!r}"


def _row(parts: tuple[Part, ...]) -> str:
    return " ".join(_described(part) for part in parts)


def _described(part: Part) -> str:
    marks = {Contiguity.STRICT: ">", Contiguity.RELAXED: "..", Contiguity.ANY: "*"}
    if isinstance(part, Group):
        what, negated = f"({_row(part.parts)})", ""
    else:
        condition = part.condition.text if part.condition else "any"
        what, negated = f"{part.name}:{condition}", "!" if part.negated else ""
    q = part.quantifier
    how_often = "" if (q.least, q.most) == (1, 1) else f"{{{q.least},{q.most or ''}}}"
    how_often += marks[q.inner] if how_often else ""
    until = f" until {q.until.text}" if q.until else ""
    how_often += "" if q.window_time is None else f"<{q.window_time}"
    flags = "?" * q.optional + " greedy" * q.greedy
    window_time = "" if part.window_time is None else f" gap {part.window_time}"
    return f"{marks[part.contiguity]}{negated}{what}{how_often}{flags}{until}{window_time}"
