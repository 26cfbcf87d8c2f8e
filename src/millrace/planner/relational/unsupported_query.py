"""`UnsupportedQueryError`: a query is valid but cannot run over its tables."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from millrace.common.errors import JobDefinitionError
from millrace.expressions.resolved import SqlPosition

__all__ = ["UnsupportedQueryError", "errors_shown_at"]


class UnsupportedQueryError(JobDefinitionError):
    """A valid query cannot run as it is written. Flink: ``TableException``.

    Args:
        reason: the unsupported part of the query, and what to write instead.
        place: position of the unsupported part in the statement; None if there is no text.
        further: a second sentence about the cause, and its position.
    """

    # The constructor's arguments are kept as `args`, which is what pickle calls it with again.
    def __init__(
        self,
        reason: str,
        place: SqlPosition | None = None,
        further: tuple[str, SqlPosition] | None = None,
    ) -> None:
        super().__init__(reason, place, further)
        self.reason = reason
        self.place = place
        self.further = further

    def __str__(self) -> str:
        shown = self.reason if self.place is None else self.place.shown(self.reason)
        if self.further is None:
            return shown
        reason, place = self.further
        return f"{shown}\n{place.shown(reason)}"


@contextmanager
def errors_shown_at(place: SqlPosition | None) -> Iterator[None]:
    """Add the place in the query to errors of code that does not know the statement, such as a
    connector."""
    try:
        yield
    except UnsupportedQueryError:
        raise
    except JobDefinitionError as error:
        if place is None:
            raise
        raise UnsupportedQueryError(str(error), place) from error
