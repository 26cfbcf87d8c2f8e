"""`CodePoints`: sets of characters, with the operations of character classes in regular
expressions."""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Callable, Iterable
from functools import lru_cache

__all__ = ["CodePoints", "general_category", "script", "where"]

Range = tuple[int, int]
_LAST = sys.maxunicode
_ASSIGNED = (range(0x323B0), range(0xE0000, 0xE01F0))
"""Outside of them there is nothing, or private use from `_PRIVATE` on."""
_PRIVATE = ((0xF0000, 0xFFFFD), (0x100000, 0x10FFFD))
_SPECIAL = frozenset("\\^-[]&~|")


class CodePoints:
    """A set of characters as ranges of code points, both ends included.

    >>> vowels = CodePoints.of("a-z") & CodePoints.of("aeiou")
    >>> vowels.text()
    'aeiou'
    >>> (~vowels & CodePoints.of("a-f")).text()
    'b-df'
    """

    __slots__ = ("ranges",)

    def __init__(self, ranges: Iterable[Range] = ()) -> None:
        merged: list[Range] = []
        for first, last in sorted(ranges):
            if merged and first <= merged[-1][1] + 1:
                merged[-1] = (merged[-1][0], max(merged[-1][1], last))
            else:
                merged.append((first, last))
        self.ranges = tuple(merged)

    @classmethod
    def of(cls, text: str) -> CodePoints:
        """The set of the characters in a text, in which a dash makes a range."""
        ranges, position = [], 0
        while position < len(text):
            step = 3 if text[position + 1 : position + 2] == "-" else 1
            ranges.append((ord(text[position]), ord(text[position + step - 1])))
            position += step
        return cls(ranges)

    def __or__(self, other: CodePoints) -> CodePoints:
        return CodePoints((*self.ranges, *other.ranges))

    def __invert__(self) -> CodePoints:
        gaps, begin = [], 0
        for first, last in self.ranges:
            if first > begin:
                gaps.append((begin, first - 1))
            begin = last + 1
        if begin <= _LAST:
            gaps.append((begin, _LAST))
        return CodePoints(gaps)

    def __and__(self, other: CodePoints) -> CodePoints:
        return ~(~self | ~other)

    def in_any_case(self, beyond_ascii: bool) -> CodePoints:
        """The set with each letter in both cases.

        Args:
            beyond_ascii: whether all letters are included, or only A to Z.
        """
        letters = self if beyond_ascii else self & CodePoints.of("a-zA-Z")
        others = []
        for first, last in letters.ranges:
            for number in range(first, min(last, 0x1FFFF) + 1):
                character = chr(number)
                for other in (character.lower(), character.upper()):
                    if len(other) == 1 and other != character:
                        others.append((ord(other), ord(other)))
        return CodePoints((*self.ranges, *others))

    def text(self) -> str:
        """Text of the set between the brackets of a class, for Python and for RE2."""
        made = []
        for first, last in self.ranges:
            made.append(_escaped(first))
            if last > first:
                made.append(("-" if last > first + 1 else "") + _escaped(last))
        return "".join(made)


def _escaped(number: int) -> str:
    character = chr(number)
    return f"\\{character}" if character in _SPECIAL else character


@lru_cache(maxsize=64)
def where(test: Callable[[str], bool]) -> CodePoints:
    """The characters that pass a test."""
    ranges: list[Range] = []
    for part in _ASSIGNED:
        ranges += [(number, number) for number in part if test(chr(number))]
    return CodePoints(ranges)


@lru_cache(maxsize=1)
def _categories() -> dict[str, CodePoints]:
    by_category: dict[str, list[Range]] = {"Co": list(_PRIVATE)}
    for part in _ASSIGNED:
        for number in part:
            by_category.setdefault(unicodedata.category(chr(number)), []).append((number, number))
    made = {name: CodePoints(ranges) for name, ranges in by_category.items()}
    assigned = CodePoints(
        code_range for name in made if name != "Cn" for code_range in made[name].ranges
    )
    return {**made, "Cn": ~assigned}


def general_category(name: str) -> CodePoints | None:
    """Characters of a general category of Unicode such as ``Lu``, or of a group such as ``L``;
    None if the name is unknown."""
    cased = ("Lu", "Ll", "Lt")
    names = [
        category
        for category in _categories()
        if category == name or category[0] == name or (name == "LC" and category in cased)
    ]
    if not names:
        return None
    return CodePoints(code_range for part in names for code_range in _categories()[part].ranges)


@lru_cache(maxsize=64)
def script(name: str) -> CodePoints | None:
    """Letters and marks of a script, found by the characters' names; None if the name is
    unknown."""
    upper = name.upper().replace("_", " ")
    begin = {"HAN": "CJK UNIFIED IDEOGRAPH"}.get(upper, upper)
    starts = tuple(f"{before}{begin}" for before in ("", "FULLWIDTH ", "HALFWIDTH "))
    letters = where_named(starts)
    return letters if letters.ranges else None


def where_named(starts: tuple[str, ...]) -> CodePoints:
    """Characters whose names begin with one of the given words."""
    ends = (" ", "-")
    ranges: list[Range] = []
    for part in _ASSIGNED:
        for number in part:
            name = unicodedata.name(chr(number), "")
            if name.startswith(starts):
                start = next(prefix for prefix in starts if name.startswith(prefix))
                if name[len(start) : len(start) + 1] in ends:
                    ranges.append((number, number))
    return CodePoints(ranges)
