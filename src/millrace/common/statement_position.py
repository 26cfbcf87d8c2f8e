"""Positions in the text of a statement, and their presentation in errors.

Calls keep theirs, so they go to workers, which have no parser.
"""

from __future__ import annotations

from typing import NamedTuple

from millrace.common.config.shown_settings import shown_statement

__all__ = ["NamePositions", "OptionPosition", "StatementPosition", "TextPosition", "excerpt"]

MAX_SHOWN = 160
"""Characters of a line that an error shows: those around the place."""


class TextPosition(NamedTuple):
    """Position of a piece of text: line and column of its first character, from 1, and its offsets.

    ``end`` is the offset after the last character.
    """

    line: int
    column: int
    start: int
    end: int

    def to(self, last: TextPosition) -> TextPosition:
        """Position from the beginning of this piece to the end of another one."""
        return self._replace(end=last.end)


class NamePositions:
    """Positions of the names and quoted texts of a statement, recorded while it is parsed."""

    def __init__(self) -> None:
        self._names: dict[str, TextPosition] = {}
        self._texts: dict[str, TextPosition] = {}
        self.options: dict[str, TextPosition] = {}
        """Positions of the keys of options."""

    def note_name(self, name: str, position: TextPosition) -> None:
        """Record the position of a name."""
        self._names[name.lower()] = position

    def note_text(self, text: str, position: TextPosition) -> None:
        """Record the position of a text in quotes, such as the key or the value of an option."""
        self._texts[text.lower()] = position

    def get(self, name: str) -> TextPosition | None:
        """Position of the last name that equals a text, or else of the last quoted text that equals
        it; upper and lower case are not distinguished. None if the statement has neither.
        """
        return self._names.get(name.lower()) or self._texts.get(name.lower())


class StatementPosition(NamedTuple):
    """Position of an expression in the text of its statement.

    >>> print(StatementPosition("SELECT 1 / 0", TextPosition(1, 8, 7, 12)).shown("/ by zero"))
    line 1, column 8: / by zero
    SELECT 1 / 0
           ^^^^^
    """

    text: str
    position: TextPosition
    is_unknown_option: bool = False
    """Whether it is the key of an option that does not exist, so its key may be a misspelt one of a
    secret."""
    unknown_in_hint: str | None = None
    """Key of an option in a hint that does not exist. None if there is none."""

    def shown(self, reason: str) -> str:
        """Error text about the expression, with its position and its SQL text."""
        place = f"line {self.position.line}, column {self.position.column}: {reason}"
        text = shown_statement(self.text, key=self.unknown_in_hint)
        return f"{place}\n{excerpt(text, self.position, self.is_unknown_option)}"


class OptionPosition(NamedTuple):
    """Position of an option in the statement that declares a table with it.

    >>> text = "CREATE TABLE bids (id INT) WITH ('conector' = 'print')"
    >>> print(OptionPosition("bids", text, TextPosition(1, 34, 33, 43)).shown("no connector"))
    no connector
    in line 1, column 34 of the declaration of table bids:
    CREATE TABLE bids (id INT) WITH ('conector' = 'print')
                                     ^^^^^^^^^^
    """

    table: str
    text: str
    position: TextPosition
    is_unknown: bool = False
    """Whether the option does not exist, so that its key may be a misspelt one of a secret."""

    def shown(self, reason: str) -> str:
        """Error text about the option, with its position and its line."""
        place = f"in line {self.position.line}, column {self.position.column}"
        declaration = f"{place} of the declaration of table {self.table}:"
        return f"{reason}\n{declaration}\n{excerpt(self.text, self.position, self.is_unknown)}"


def excerpt(text: str, position: TextPosition, is_unknown_option: bool = False) -> str:
    """The line in which a position is, with carets below the piece. Secrets in options are hidden.

    Args:
        is_unknown_option: whether an option that does not exist is at the position.

    >>> print(excerpt("SELECT a\\nFORM t", TextPosition(2, 1, 9, 13)))
    FORM t
    ^^^^
    """
    text = shown_statement(text, position.start if is_unknown_option else None)
    begin = position.start - (position.column - 1)
    stop = text.find("\n", position.start)
    line = text[begin : len(text) if stop < 0 else stop].rstrip("\r")
    column = position.column - 1
    if len(line) > MAX_SHOWN:
        first = max(0, min(column - MAX_SHOWN // 2, len(line) - MAX_SHOWN))
        line, column = line[first : first + MAX_SHOWN], column - first
    width = max(1, min(position.end - position.start, len(line) - column))
    # tabs before the carets are kept, so that they stand below what they point at
    indent = "".join(sign if sign == "\t" else " " for sign in line[:column])
    return f"{line}\n{indent}{'^' * width}"
