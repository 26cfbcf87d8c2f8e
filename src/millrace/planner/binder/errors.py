"""Errors of queries that parse but are not valid: unknown names, types that do not fit."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from millrace.common.errors import JobDefinitionError
from millrace.sql.position import StatementPlace, TextPosition

__all__ = ["SqlValidationError", "nearest_name"]


class SqlValidationError(JobDefinitionError):
    """A query is grammatical but not valid. Flink: ``ValidationException``.

    Args:
        reason: the error, and what to write instead.
        text: the whole text of the statement; None if there is no text.
        position: place of the error in the text; None if the whole statement is wrong.
    """

    def __init__(self, reason: str, text: str | None = None, position: TextPosition | None = None):
        super().__init__(reason, text, position)
        self.reason = reason
        self.text = text
        self.position = position

    def __str__(self) -> str:
        if self.position is None:
            return self.reason
        if not self.text:
            return f"line {self.position.line}, column {self.position.column}: {self.reason}"
        return StatementPlace(self.text, self.position).shown(self.reason)


def nearest_name(name: str, names: Iterable[str]) -> str:
    """The text ``; did you mean 'x'?`` if one of the names is similar, else an empty text.

    >>> nearest_name("prise", ["price", "bidder"])
    "; did you mean 'price'?"
    >>> nearest_name("PRICE", ["price", "bidder"])
    "; did you mean 'price'?"
    """
    by_lower: dict[str, str] = {}
    for each in names:
        by_lower.setdefault(each.lower(), each)
    found = get_close_matches(name.lower(), by_lower, n=1, cutoff=0.5)
    return f"; did you mean {by_lower[found[0]]!r}?" if found else ""
