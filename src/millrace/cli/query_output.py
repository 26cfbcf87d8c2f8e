"""Output of a query's result as a table, as JSON or as CSV."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from millrace.cli.printing import print_table
from millrace.common.types.json_values import json_text

ResultRow = Sequence[Any]


def print_frame(frame: Any, style: str) -> None:
    """Print a DataFrame in one of the formats ``table``, ``json`` and ``csv``."""
    print_rows(frame.columns, _rows(frame), style)


def print_rows(names: Sequence[str], rows: Iterable[ResultRow], style: str) -> None:
    """Print rows; only the format ``table`` needs all of them in memory.

    Example:
        >>> print_rows(("key", "value"), [("a", 1), ("b", None)], "json")
        [
        {"key": "a", "value": 1},
        {"key": "b", "value": null}
        ]
    """
    if style == "json":
        _print_json(names, rows)
    elif style == "csv":
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(names)
        writer.writerows([_text(value, "") for value in row] for row in rows)
    else:
        print_table(names, [[_text(value, "NULL") for value in row] for row in rows])


def _print_json(names: Sequence[str], rows: Iterable[ResultRow]) -> None:
    before = "[\n"
    for row in rows:
        print(before, json_text(dict(zip(names, row, strict=True))), sep="", end="")
        before = ",\n"
    print("\n]" if before != "[\n" else "[]")


def _rows(answer: Any) -> Iterator[ResultRow]:
    from millrace.spark.state_frames import answer_rows

    return answer_rows(answer)


def _text(value: Any, null: str) -> str:
    if value is None:
        return null
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()  # lone surrogates cannot be printed
    text = json_text(value)
    return text[1:-1] if text.startswith('"') else text
