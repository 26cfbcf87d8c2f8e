"""Patterns and matches on one line, for tests that list many.

A pattern: names, each the letter that its events have, and how they follow each other::

    a , b      next                 a ,! b     not_next
    a .. b     followed_by          a ..! b    not_followed_by
    a ... b    followed_by_any      ( a .. b )+   a group

After a name or a group: ``?``, ``+``, ``*``, ``{2}``, ``{2,3}``, ``{2,}``, then ``?`` again.
Words after it: greedy, consecutive, combinations, until:x, rising (the number is greater than that
of the one taken before), gap:5. At the end within:10. In front in brackets what to skip: [to_next],
[to_last b]. Events: letters and a number; an event "ab1" is both. Times are 1, 2, 3 or after an @.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from millrace.cep import AfterMatchSkipStrategy, Pattern, WithinType
from millrace.common.functions.pattern_conditions import Condition
from millrace.testing import match

HOW = {
    ",": "next",
    "..": "followed_by",
    "...": "followed_by_any",
    ",!": "not_next",
    "..!": "not_followed_by",
}
QUANTIFIED = re.compile(r"([a-z][a-z0-9]*|\))(\+|\*|\{\d+(?:,\d*)?\})?(\?)?$")
METHODS = {
    "greedy": "greedy",
    "consecutive": "consecutive",
    "combinations": "allow_combinations",
}


def has(letter: str) -> Condition:
    """The event has the letter."""
    return Condition(lambda value: letter in value, text=letter)


def _rising(name: str) -> Condition:
    """It has the letter, and a greater number than the one before."""

    def condition(value: str, context: Any) -> bool:
        before = context.get_events_for_pattern(name)
        return name[0] in value and (not before or _number(value) > _number(before[-1]))

    return Condition(condition, iterative=True, text=f"<{name[0]}:{name}")


def _number(event: str) -> int:
    return int("".join(filter(str.isdigit, event)))


def pattern(text: str) -> Pattern:
    """The pattern that a line says."""
    skip = re.match(r"\[([a-z_]+) ?(\w+)?(!)?\] ", text)
    words = text[skip.end() :].split() if skip else text.split()
    return _Reader(words).row(None if skip is None else _skip(*skip.groups()))


def _skip(kind: str, name: str | None, throws: str | None) -> AfterMatchSkipStrategy:
    make = getattr(AfterMatchSkipStrategy, kind if kind == "no_skip" else f"skip_{kind}")
    strategy: AfterMatchSkipStrategy = make(name) if name else make()
    return strategy.throw_exception_on_miss() if throws else strategy


class _Reader:
    def __init__(self, words: list[str]) -> None:
        self.words = words

    def row(self, skip: AfterMatchSkipStrategy | None = None) -> Pattern:
        """A row of parts, to its end or that of the group."""
        made = self._part(lambda part: Pattern.begin(part, skip))
        while self.words and not self.words[0].startswith(")"):
            word = self.words.pop(0)
            made = self._part(getattr(made, HOW[word])) if word in HOW else self._word(made, word)
        return made

    def _part(self, join: Callable[[Any], Pattern]) -> Pattern:
        word = self.words.pop(0)
        if word == "(":
            made = join(self.row())
            return self._quantified(made, self.words.pop(0))
        found = QUANTIFIED.match(word)
        assert found is not None, word
        name = found[1]
        made = join(name)
        rising = bool(self.words) and self.words[0] == "rising"
        if rising:
            self.words.pop(0)
        if not name.startswith("any"):
            made = made.where(_rising(name) if rising else has(name[0]))
        return self._quantified(made, word)

    def _quantified(self, made: Pattern, word: str) -> Pattern:
        found = QUANTIFIED.match(word)
        assert found is not None, word
        how_often, optional = found[2], found[3]
        if how_often in ("+", "*"):
            made = made.one_or_more()
        elif how_often:
            least, comma, most = how_often[1:-1].partition(",")
            if comma and not most:
                made = made.times_or_more(int(least))
            else:
                made = made.times(int(least), int(most)) if comma else made.times(int(least))
        return made.optional() if optional or how_often == "*" else made

    def _word(self, made: Pattern, word: str) -> Pattern:
        if word in METHODS:
            changed: Pattern = getattr(made, METHODS[word])()
            return changed
        key, _, value = word.partition(":")
        if key == "until":
            return made.until(has(value))
        kinds = {"within": WithinType.FIRST_AND_LAST, "gap": WithinType.PREVIOUS_AND_CURRENT}
        return made.within(int(value), kinds[key])


def timed(events: str) -> list[tuple[str, int]]:
    """Events and their times."""
    made = []
    for number, word in enumerate(events.split(), start=1):
        value, _, time = word.partition("@")
        made.append((value, int(time or number)))
    return made


@dataclass(frozen=True)
class Found:
    """What came of it, a string each, sorted."""

    matches: list[str]
    timed_out: list[str]
    """With their deadlines."""


def found(text: str, events: str) -> Found:
    """What a pattern finds among events."""
    stream = timed(events)
    result = match(
        pattern(text), [value for value, _ in stream], timestamps=[time for _, time in stream]
    )
    over = [f"{_line(m.events)}@{m.timestamp}" for m in result.over]
    return Found(sorted(map(_line, result.matches)), sorted(over))


def _line(taken: dict[str, list[str]]) -> str:
    return " ".join(value for values in taken.values() for value in values)
