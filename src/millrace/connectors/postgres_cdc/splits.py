"""Splits of a CDC source: chunks of tables, and the changes of all tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from millrace.common.source import SourceEvent, SourceSplit
from millrace.connectors.postgres_cdc.captured_table import CapturedTable

__all__ = [
    "ChangesSplit",
    "ChunkFinished",
    "ChunkPosition",
    "ChunkSplit",
    "Key",
    "NewChanges",
    "Page",
    "RunEnded",
]

Key = tuple[str, ...]
"""Values of a primary key, as PostgreSQL writes them as text."""


class Page(NamedTuple):
    """Rows of a table that one query has read, from a key up to the next page's key."""

    start: Key | None
    """The first key; None for the start of the table."""
    snapshot: str
    """Text of the `DatabaseSnapshot` of the query."""


class ChunkPosition(NamedTuple):
    """Reading progress within a chunk."""

    start: Key | None
    """Start of the page to read next."""
    pages: tuple[Page, ...]


@dataclass(frozen=True)
class ChunkSplit(SourceSplit):
    """Rows of a table whose primary keys lie in a range.

    Attributes:
        table: the table.
        number: number of the chunk in the table.
        start: the first key; None for the start of the table.
        end: the first key after the chunk; None if no key follows.
    """

    table: CapturedTable
    number: int
    start: Key | None
    end: Key | None


@dataclass(frozen=True)
class ChangesSplit(SourceSplit):
    """Changes of all tables from a log position on.

    Attributes:
        tables: the tables.
        reader_name: application name of its connections, by which those that were left behind are
            recognised.
        start_lsn: transactions that were committed from here on.
        end_lsn: end position, excluded; None if the split has no end.
        pages: by the full name of each table, the pages that queries have read, in the order of
            keys. Changes that these queries saw are left out.
    """

    tables: tuple[CapturedTable, ...]
    reader_name: str
    start_lsn: int
    end_lsn: int | None = None
    pages: tuple[tuple[str, tuple[Page, ...]], ...] = ()


@dataclass(frozen=True)
class ChunkFinished(SourceEvent):
    """A chunk is fully read, with the pages of its queries."""

    table: str
    """Its full name."""
    number: int
    pages: tuple[Page, ...]


@dataclass(frozen=True)
class RunEnded(SourceEvent):
    """The log is read up to the end position of an available-now run."""

    lsn: int


class NewChanges(SourceEvent):
    """The log has grown, so that new changes may be available."""
