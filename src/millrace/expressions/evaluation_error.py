"""`EvaluationError`: an expression fails for a row; `ValueCountError`: a kernel is wrong."""

from __future__ import annotations

from millrace.common.errors import JobExecutionError
from millrace.expressions.resolved import SqlPosition

__all__ = ["EvaluationError", "ValueCountError"]


class EvaluationError(JobExecutionError):
    """A value that cannot be cast, a division by zero, or an argument out of range.

    Flink fails the job likewise (``ArithmeticException``, ``NumberFormatException``,
    ``DateTimeException``); TRY_CAST gives null for what cannot be cast.

    Attributes:
        place: position of the expression in its statement, once it is known.
        row: the columns that it reads, of the row that has no value, likewise.
        call: the expression, where the reason does not name its function; "": it does.
    """

    place: SqlPosition | None = None
    row: str = ""
    call: str | None = None

    def __str__(self) -> str:
        reason = super().__str__()
        if self.call and self.place is None:  # otherwise the statement shows it
            reason = f"{self.call}: {reason}"
        if self.row:
            reason = f"{reason} (in the row {self.row})"
        return reason if self.place is None else self.place.shown(reason)


class ValueCountError(JobExecutionError):
    """A kernel returned more or fewer values than there are rows; a fault of millrace.

    Columns of different lengths would lose rows, or give them values of others.
    """
