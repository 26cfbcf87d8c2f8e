"""`EvaluationError`: an expression has no value for a row."""

from __future__ import annotations

from millrace.common.errors import JobExecutionError
from millrace.expressions.resolved import Place

__all__ = ["EvaluationError"]


class EvaluationError(JobExecutionError):
    """A value that cannot be cast, a division by zero, or an argument out of range.

    Flink fails the job likewise (``ArithmeticException``, ``NumberFormatException``,
    ``DateTimeException``); TRY_CAST gives null for what cannot be cast.

    Attributes:
        place: of the expression in its statement, once it is known.
        row: the columns that it reads, of the row that has no value, likewise.
    """

    place: Place | None = None
    row: str = ""

    def __str__(self) -> str:
        reason = super().__str__()
        if self.row:
            reason = f"{reason} (in the row {self.row})"
        return reason if self.place is None else self.place.shown(reason)
