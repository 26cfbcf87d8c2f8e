"""Positions in PostgreSQL's write-ahead log (LSN), and in the stream of changes read from it."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["StreamPosition", "format_lsn", "parse_lsn"]


class StreamPosition(NamedTuple):
    """Position after the last change read.

    Attributes:
        lsn: transactions that were committed before it have been read.
        commit_lsn: commit position of the partly read transaction; 0 if there is none.
        changes: number of its changes that have been read.
    """

    lsn: int
    commit_lsn: int = 0
    changes: int = 0


def parse_lsn(text: str) -> int:
    """Number of an LSN in PostgreSQL's text form.

    Example:
        >>> parse_lsn("16/B374D848") == (0x16 << 32) + 0xB374D848
        True
    """
    high, _, low = text.partition("/")
    return (int(high, 16) << 32) + int(low, 16)


def format_lsn(lsn: int) -> str:
    """LSN in PostgreSQL's text form.

    Example:
        >>> format_lsn(parse_lsn("16/B374D848"))
        '16/B374D848'
    """
    return f"{lsn >> 32:X}/{lsn & 0xFFFFFFFF:X}"
