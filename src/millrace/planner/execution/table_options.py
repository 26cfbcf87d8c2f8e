"""Errors about options of a table, shown where the option is declared."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager

from millrace.common.errors import JobDefinitionError
from millrace.expressions.resolved import SqlPosition
from millrace.planner.catalog_reader import ResolvedTable
from millrace.planner.relational.unsupported_query import UnsupportedQueryError
from millrace.sql.position import OptionPosition, StatementPosition

__all__ = ["OptionError", "UnknownOptionError", "errors_of_connector", "option_place"]

_QUOTED = re.compile(r"'([^']+)'")


class OptionError(JobDefinitionError):
    """A declared option is missing, unknown or wrong. Flink: ``ValidationException``.

    Args:
        reason: what is wrong.
        option: key of the declared option at which the error points.

    Attributes:
        place: position of the option in the statement that declares it; None if it is unknown.
    """

    def __init__(self, reason: str, option: str) -> None:
        super().__init__(reason, option)
        self.reason, self.option = reason, option
        self.place: SqlPosition | None = None

    def __str__(self) -> str:
        return self.reason if self.place is None else self.place.shown(self.reason)


class UnknownOptionError(OptionError):
    """A declared option does not exist. The value of the option is not shown."""


def option_place(
    error: JobDefinitionError,
    places: Mapping[str, OptionPosition],
    hints: Collection[str] = (),
) -> OptionPosition | None:
    """Place of the declared option that an error is about; None if it is about something else.

    Connectors name options in quotes. The option ``connector`` is often part of a message about
    something else, so only a `OptionError` is about it.

    Args:
        hints: keys that the query sets by a hint; errors about them belong to the query.
    """
    if isinstance(error, OptionError):
        place = None if error.option in hints else places.get(error.option)
        if place is not None and isinstance(error, UnknownOptionError):
            return place._replace(is_unknown=True)
        return place
    names = _QUOTED.findall(str(error))
    if any(name in hints for name in names):
        return None
    return next((places[name] for name in names if name in places and name != "connector"), None)


@contextmanager
def errors_of_connector(
    table: ResolvedTable, hints: Collection[str], place: SqlPosition | None
) -> Iterator[None]:
    """Add a place to errors of a table's connector: the place of the declared option that the error
    is about, or else the place of the table in the query.

    Args:
        hints: keys of options that the query sets by a hint.
        place: position of the table in the query; None if the query has no text.
    """
    try:
        yield
    except UnsupportedQueryError:
        raise
    except JobDefinitionError as error:
        shown = option_place(error, table.option_places, hints) or place
        if shown is None:
            raise
        if isinstance(error, UnknownOptionError) and isinstance(shown, StatementPosition):
            shown = shown._replace(unknown_in_hint=error.option)
        raise UnsupportedQueryError(str(error), shown) from error
