"""`JavaPattern`: searches texts for a regular expression of Java, with the results of
``Matcher``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["JavaPattern"]


@dataclass(frozen=True, slots=True)
class JavaPattern:
    """A Java pattern, translated for Python's regular expressions.

    Attributes:
        compiled: the pattern for Python.
        linear: the same pattern for RE2, which runs in linear time; None if RE2 does not support
            it. Its groups are called ``g1``, ``g2`` and so on.
        ends: whether `linear` ends with ``$``, with a group ``end`` for a line end at the end of
            the text. RE2 also matches this between the two characters of a line end.
        same_groups: whether RE2 finds the same first match and groups, as it does unless the
            pattern repeats a part that can be empty.
    """

    compiled: re.Pattern[str]
    linear: str | None
    ends: bool = False
    same_groups: bool = False

    @property
    def replaces(self) -> bool:
        """Whether RE2 can replace the matches: its groups are the same, `linear` has no final
        ``$``, and the pattern does not match an empty text.
        """
        return self.same_groups and not self.ends and not self.search("")

    def search(self, text: str) -> re.Match[str] | None:
        """The first match."""
        return self.compiled.search(text)

    def matches(self, text: str) -> Iterator[re.Match[str]]:
        """All matches. After an empty match, the search continues one character further, as in
        Java. Python would also find a longer match at the same place.
        """
        position = 0
        while position <= len(text):
            match = self.compiled.search(text, position)
            if match is None:
                return
            yield match
            position = match.end() + (match.end() == match.start())

    def replaced(self, text: str, new: str) -> str:
        """The text with ``new`` in place of each match."""
        parts: list[str] = []
        position = 0
        for match in self.matches(text):
            parts += [text[position : match.start()], new]
            position = match.end()
        return "".join([*parts, text[position:]])

    def split(self, text: str, limit: int = 0) -> list[str]:
        """The parts between matches, as ``String.split`` returns them: at most ``limit`` parts. For
        0, all parts, but no empty ones at the end.
        """
        parts: list[str] = []
        position = 0
        for match in self.matches(text):
            if limit and len(parts) == limit - 1:
                break
            if not (match.end() == 0 and match.start() == 0):
                parts.append(text[position : match.start()])
                position = match.end()
        if not parts:
            return [text]
        parts.append(text[position:])
        while not limit and parts and not parts[-1]:
            parts.pop()
        return parts
