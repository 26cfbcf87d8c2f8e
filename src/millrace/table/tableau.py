"""Printed tables in Flink's style, with a column ``op`` for the row kinds of streams.

Flink: ``TableauStyle``.
"""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

from millrace.common.types.logical import logical_type as logical
from millrace.common.types.logical.logical_type import LogicalType

__all__ = ["MAX_WIDTH", "column_width", "tableau"]

MAX_WIDTH = 30
"""``sql-client.display.max-column-width``: longer values are cut off."""
OP_WIDTH = 2


def column_width(name: str, kind: LogicalType) -> int:
    """The width of a stream's column, whose values are not known in advance."""
    widths: dict[type[LogicalType], int] = {
        logical.TinyIntType: 4,
        logical.SmallIntType: 6,
        logical.IntType: 11,
        logical.BigIntType: 20,
        logical.DateType: 10,
    }
    width = widths.get(type(kind), MAX_WIDTH)
    if isinstance(kind, logical.DecimalType):
        width = kind.precision + 3
    elif isinstance(kind, (logical.TimestampType, logical.LocalZonedTimestampType)):
        width = 20 + kind.precision if kind.precision else 19
    elif isinstance(kind, logical.CharType):
        width = kind.length
    return max(min(width, MAX_WIDTH), len(name))


def tableau(
    names: Sequence[str],
    rows: Iterable[Sequence[str]],
    widths: Sequence[int] | None = None,
    limit: int | None = MAX_WIDTH,
) -> Iterator[str]:
    """The lines of a printed table.

    Args:
        rows: cells; the first column is ``op`` if ``names`` begins with it.
        widths: widths of the columns; if None, each column is as wide as its cells, and all rows
            are read before the first line.
        limit: maximum width of a column that fits its cells; None if there is no limit.

    Example:
        >>> print("\\n".join(tableau(["id", "name"], [["1", "a"]])))
        +----+------+
        | id | name |
        +----+------+
        |  1 |    a |
        +----+------+
        1 row in set
    """
    if widths is None:
        rows = list(rows)
        widths = [
            min(limit or sys.maxsize, max(0, *(_width(row[index]) for row in rows), 0))
            for index, name in enumerate(names)
        ]
        widths = [max(width, _width(name)) for width, name in zip(widths, names, strict=True)]
    border = "+" + "+".join("-" * (width + 2) for width in widths) + "+"
    count = 0
    for row in rows:
        if not count:
            yield from (border, _line(names, widths), border)
        count += 1
        yield _line(row, widths)
    if not count:
        yield "Empty set"
        return
    yield border
    yield "1 row in set" if count == 1 else f"{count} rows in set"


def _line(values: Sequence[str], widths: Sequence[int]) -> str:
    cells = (_cell(value, width) for value, width in zip(values, widths, strict=True))
    return "| " + " | ".join(cells) + " |"


def _cell(text: str, width: int) -> str:
    text = text.replace("\n", "\\n").replace("\t", "\\t")
    if _width(text) > width:
        kept = ""
        for sign in text:
            if _width(kept + sign) > width - 3:
                break
            kept += sign
        text = kept + "..."
    return " " * (width - _width(text)) + text


def _width(text: str) -> int:
    """Number of terminal columns that a text takes."""
    return sum(2 if unicodedata.east_asian_width(sign) in "WF" else 1 for sign in text)
