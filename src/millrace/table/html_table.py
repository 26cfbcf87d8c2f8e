"""Rows as an HTML table for notebooks. All data is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from millrace.common.types.logical.logical_type import RowType
from millrace.table.values import cells

__all__ = ["MOST_ROWS", "html_rows", "html_table"]

MOST_ROWS = 20
"""Rows that a notebook shows of a table."""
_LONGEST = 200


def html_rows(rows: Iterable[Any], row_type: RowType, time_zone: str) -> list[list[str]]:
    """Rows as the texts that `TableResult.print` shows for their values."""
    return [
        [
            cells([value], field.type, time_zone)[0]
            for value, field in zip(row, row_type.fields, strict=True)
        ]
        for row in rows
    ]


def html_table(
    names: Sequence[str], rows: Iterable[Sequence[str]], note: str, types: Sequence[str] = ()
) -> str:
    """HTML of a table, with a note in a line below it.

    Args:
        types: types of the columns, shown when the pointer is over a column's header.

    Example:
        >>> html_table(["a"], [["<1>"]], "1 row").partition("<tbody>")[2]
        '<tr><td>&lt;1&gt;</td></tr></tbody></table><p>1 row</p>'
    """
    titles = [f' title="{escape(kind)}"' for kind in types] or [""] * len(names)
    head = "".join(
        f"<th{title}>{escape(name)}</th>" for name, title in zip(names, titles, strict=True)
    )
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(_short(cell))}</td>' for cell in row)}</tr>" for row in rows
    )
    return (
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table><p>{escape(note)}</p>"
    )


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
