"""Parts of a table or query that are read in parallel: ranges of a column, or conditions."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from millrace.common.source import SourceSplit
from millrace.common.types.composite_types import RowTypeInfo
from millrace.connectors.jdbc.connection_options import JdbcConnectionOptions
from millrace.connectors.jdbc.placeholders import named

if TYPE_CHECKING:
    from sqlalchemy import Connection

__all__ = ["JdbcReading", "JdbcSplit", "largest", "later_splits", "range_splits"]


@dataclass(frozen=True)
class JdbcReading:
    """Settings of a JDBC source: connection, table or query, and the division into splits."""

    connection: JdbcConnectionOptions
    table: str | None = None
    sql: str | None = None
    type_info: RowTypeInfo | None = None
    columns: tuple[str, ...] = ()
    """Columns of the table; empty for all."""
    split_column: str | None = None
    splits: int = 8
    conditions: tuple[str, ...] = ()
    parameters: tuple[tuple[Any, ...], ...] = ()
    snapshot: bool = False


@dataclass(frozen=True)
class JdbcSplit(SourceSplit):
    """A part of a table or query."""

    lower: Any = None
    """Lower bound of the split column, included; None for no bound."""
    upper: Any = None
    """Upper bound, excluded; None for no bound."""
    above: Any = None
    """The value that an earlier run has read up to, not included."""
    until: Any = None
    """The last value of this run, included; None if the part has no such end."""
    is_null: bool = False
    """The rows without a value in the split column."""
    condition: str | None = None
    """In SQL."""
    parameters: tuple[Any, ...] = ()
    """In the place of the query's question marks."""
    snapshot: str | None = None
    """The exported snapshot of PostgreSQL to read in."""


def later_splits(above: Any, until: Any, parts: int) -> list[JdbcSplit]:
    """At most ``parts`` ranges of the rows that were added since a run that read up to ``above``.

    Example:
        >>> [(s.above, s.lower, s.upper, s.until) for s in later_splits(10, 20, 2)]
        [(10, None, 15, None), (None, 15, None, 20)]
    """
    cuts = [None, *dict.fromkeys(_between(above, until, parts)), None]
    splits = [JdbcSplit(f"from-{above}-{i}", *cut) for i, cut in enumerate(pairwise(cuts))]
    splits[0] = replace(splits[0], above=above)
    splits[-1] = replace(splits[-1], until=until)
    return splits


def range_splits(connection: Connection, base: str, column: str, parts: int) -> list[JdbcSplit]:
    """At most ``parts`` ranges of a column: of equal width for numbers and times, else with equally
    many rows. The first and last ranges are unbounded, and rows without a value form a range of
    their own.

    Args:
        base: the table or query with a name, as text after FROM.
        column: quoted name of the split column.
    """
    from sqlalchemy import text

    base, column = named(base), named(column)
    ends = text(f"SELECT min({column}), max({column}) FROM {base}")
    [(low, high)] = connection.execute(ends).all()
    bounds: list[Any] = []
    if low is not None and low != high and parts > 1:
        bounds = _between(low, high, parts)
        if not bounds:
            numbered = (
                f"SELECT {column} AS v, ntile({parts}) OVER (ORDER BY {column}) AS n FROM {base} "
                f"WHERE {column} IS NOT NULL"
            )
            first = f"SELECT min(v) AS v FROM ({numbered}) AS numbered GROUP BY n ORDER BY v"
            bounds = list(connection.execute(text(first)).scalars())[1:]
    cuts = [None, *dict.fromkeys(bounds), None]
    splits = [JdbcSplit(f"range-{i}", *cut) for i, cut in enumerate(pairwise(cuts))]
    empty = text(f"SELECT 1 FROM {base} WHERE {column} IS NULL LIMIT 1")
    if connection.execute(empty).first() is not None:
        splits.append(JdbcSplit("null", is_null=True))
    return splits


def largest(connection: Connection, base: str, column: str, above: Any) -> Any:
    """Largest value of a column that is greater than ``above``, or of the whole column if
    ``above`` is None; None if there is no value."""
    from sqlalchemy import text

    base, column = named(base), named(column)
    more, values = ("", {}) if above is None else (f" WHERE {column} > :above", {"above": above})
    return connection.execute(text(f"SELECT max({column}) FROM {base}{more}"), values).scalar()


def _between(low: Any, high: Any, parts: int) -> list[Any]:
    """Inner bounds of equal ranges; none for texts and similar types, or if the last value is NaN.

    Example:
        >>> _between(0, 10, 4), _between("a", "z", 4)
        ([2, 5, 7], [])
    """
    if isinstance(low, (int, float, Decimal)) and not isinstance(low, bool):
        width: Any = high - low
        whole = isinstance(low, int)
        if not (whole or math.isfinite(width)):
            return []
        bounds = [
            low + (width * i // parts if whole else width * i / parts) for i in range(1, parts)
        ]
    elif isinstance(low, datetime):
        bounds = [low + (high - low) * i / parts for i in range(1, parts)]
    elif isinstance(low, date):
        days = (high - low).days
        bounds = [low + timedelta(days * i // parts) for i in range(1, parts)]
    else:
        return []
    return [bound for bound in bounds if low < bound]
