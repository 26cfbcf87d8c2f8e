"""Errors of queries that parse but are not valid: unknown names, types that do not fit."""

from __future__ import annotations

from millrace.common.errors import JobDefinitionError
from millrace.sql.position import StatementPosition, TextPosition

__all__ = ["SqlValidationError"]


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
        return StatementPosition(self.text, self.position).shown(self.reason)
