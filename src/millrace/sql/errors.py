"""Errors of SQL texts: the reason, line and column, and the line with a caret."""

from __future__ import annotations

from millrace.common.errors import JobDefinitionError
from millrace.sql.position import TextPosition, excerpt

__all__ = ["SqlParserError"]


class SqlParserError(JobDefinitionError):
    """A text is not a valid Flink SQL statement. Flink: ``SqlParserException``.

    Args:
        reason: the error, and what was expected instead.
        text: the whole text that was parsed.
        position: position of the error in the text.

    Example:
        >>> from millrace.sql.parser import parse_statement
        >>> try:
        ...     parse_statement("SELECT a FORM t WHERE b")
        ... except SqlParserError as error:
        ...     print(error)
        line 1, column 10: 't' is not expected after FORM; did you mean FROM?
        SELECT a FORM t WHERE b
                 ^^^^
    """

    # The constructor's arguments are kept as `args`, which is what pickle calls it with again.
    def __init__(self, reason: str, text: str, position: TextPosition) -> None:
        super().__init__(reason, text, position)
        self.reason = reason
        self.text = text
        self.position = position

    @property
    def line(self) -> int:
        """Line of the error, from 1."""
        return self.position.line

    @property
    def column(self) -> int:
        """Column of the error, from 1."""
        return self.position.column

    def __str__(self) -> str:
        place = f"line {self.line}, column {self.column}"
        return f"{place}: {self.reason}\n{excerpt(self.text, self.position)}"
