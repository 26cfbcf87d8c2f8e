"""Output of commands: tables, sizes and times for people, JSON for machines."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any
from unicodedata import combining, east_asian_width


def print_json(value: Any) -> None:
    """Print one JSON value on standard output."""
    print(json.dumps(value, indent=2, default=str))


def print_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table on standard output; columns are as wide as their cells."""
    print_lines(aligned([heads, *rows]))


def print_lines(lines: Iterable[str]) -> None:
    """Print lines on standard output; control characters in names are replaced."""
    for line in lines:
        print(printable(line))


def printable(text: str, keep: str = "") -> str:
    """The text with a mark in place of characters that would control the terminal.

    Example:
        >>> printable("k\\x1b[2J\\n")
        'k�[2J�'
    """
    return "".join(c if c.isprintable() or c in keep else "\N{REPLACEMENT CHARACTER}" for c in text)


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines whose cells are aligned in columns.

    Example:
        >>> aligned([("a", "b"), ("long", "c")])
        ['a     b', 'long  c']
    """
    widths = [max(map(width_of, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell + " " * (width - width_of(cell)) for cell, width in zip(row, widths, strict=True)
        ).rstrip()
        for row in rows
    ]


def width_of(text: str) -> int:
    """Number of terminal columns that a text takes.

    Example:
        >>> width_of("tea"), width_of("お茶"), width_of("cafe\u0301")
        (3, 4, 4)
    """
    if text.isascii():
        return len(text)
    return sum(0 if combining(c) else 2 if east_asian_width(c) in ("W", "F") else 1 for c in text)


def shortened(text: str, most: int = 60) -> str:
    """A name cut to a length.

    Example:
        >>> shortened("clicks"), shortened("from-somewhere-to-elsewhere", 12)
        ('clicks', 'from-some...')
    """
    return text if len(text) <= most else f"{text[: most - 3]}..."


def last_line(text: str) -> str:
    """The last line of an error, which names the exception.

    Example:
        >>> last_line("Traceback ...\\n  File ...\\nValueError: no\\n")
        'ValueError: no'
    """
    line = text.strip().rpartition("\n")[2].strip()
    return shortened(line, 80)


def size_text(size: int) -> str:
    """A number of bytes as text.

    Example:
        >>> size_text(999), size_text(2048), size_text(5 << 30)
        ('999 B', '2.0 KiB', '5.0 GiB')
    """
    if size < 1024:
        return f"{size} B"
    amount, units = size / 1024, ["KiB", "MiB", "GiB", "TiB"]
    while amount >= 1024 and len(units) > 1:
        amount, units = amount / 1024, units[1:]
    return f"{amount:.1f} {units[0]}"


def plural(count: int, noun: str) -> str:
    """Text of a count with its noun, in singular or plural.

    Example:
        >>> plural(1, "key"), plural(2_000, "key")
        ('1 key', '2,000 keys')
    """
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
