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
    """

    place: Place | None = None

    def __str__(self) -> str:
        reason = super().__str__()
        return reason if self.place is None else self.place.shown(reason)
