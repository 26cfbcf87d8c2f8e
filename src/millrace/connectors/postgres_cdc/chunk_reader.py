"""Reader of a chunk of a table, page by page, without locks and without long transactions."""

from __future__ import annotations

from typing import Any

from millrace.connectors.postgres_cdc.captured_table import (
    CapturedTable,
    columns_in_query,
    in_query,
)
from millrace.connectors.postgres_cdc.change import ChangeOperation, RowImage, TableChange
from millrace.connectors.postgres_cdc.connection import import_psycopg
from millrace.connectors.postgres_cdc.splits import ChunkPosition, ChunkSplit, Key, Page

__all__ = ["ChunkReader", "next_chunk_start"]

READ = ChangeOperation.READ


class ChunkReader:
    """Reads each page with one query, and records the query's snapshot. The snapshots later tell
    which changes in the log are already in a page.

    Args:
        position: reading progress; None for the start of the chunk.
    """

    def __init__(self, split: ChunkSplit, position: ChunkPosition | None, database: str) -> None:
        self.split = split
        self.position = position or ChunkPosition(split.start, ())
        self.finished = False
        table = split.table
        self._key = tuple(map(table.columns.index, table.key))
        self._image = RowImage(
            database, table.schema, table.name, table.columns, self._key, full_identity=True
        )

    def read(self, connection: Any, max_records: int) -> list[TableChange]:
        """Rows of the next page.

        Args:
            connection: connection whose transactions are repeatable reads.
            max_records: rows at most.

        Raises:
            psycopg.Error: the connection is lost, or the table cannot be read.
        """
        start, pages = self.position
        query, values = self._page(start, max_records + 1)
        with connection.transaction():
            snapshot = connection.execute("select pg_current_snapshot()::text").fetchone()[0]
            cursor = connection.execute(query, values)
            rows = cursor.fetchall()
        self.finished = len(rows) <= max_records
        following = None if self.finished else self._key_of(cursor.pgresult, max_records)
        self.position = ChunkPosition(following, _with_page(pages, Page(start, snapshot)))
        image = self._image
        return [TableChange(READ, image, None, row) for row in rows[:max_records]]

    def _key_of(self, result: Any, row: int) -> Key:
        return tuple(result.get_value(row, column).decode() for column in self._key)

    def _page(self, start: Key | None, limit: int) -> tuple[str, list[Any]]:
        table, end = self.split.table, self.split.end
        bounds = [(">=", start), ("<", end)]
        where = [f"{_key_columns(table)} {than} {_key_values(table)}" for than, k in bounds if k]
        condition = f" where {' and '.join(where)}" if where else ""
        query = (
            f"select {columns_in_query(table.columns)} from {in_query(table)}{condition} "
            f"order by {columns_in_query(table.key)} limit %s"
        )
        return query, [value for _, key in bounds if key for value in key] + [limit]


def _with_page(pages: tuple[Page, ...], page: Page) -> tuple[Page, ...]:
    """Pages with a new one, unless it has the same snapshot as the last."""
    return pages if pages and pages[-1].snapshot == page.snapshot else (*pages, page)


def next_chunk_start(
    connection: Any, table: CapturedTable, start: Key | None, size: int
) -> Key | None:
    """The key that is ``size`` rows after a given start key; None if fewer rows follow."""
    keys = columns_in_query(table.key)
    texts = ", ".join(f"{columns_in_query([name])}::text" for name in table.key)
    where = f"where {_key_columns(table)} >= {_key_values(table)} " if start else ""
    row = connection.execute(
        f"select {texts} from {in_query(table)} {where}order by {keys} offset %s limit 1",
        [*(start or ()), size],
    ).fetchone()
    return None if row is None else tuple(row)


def key_buckets(
    connection: Any, table: CapturedTable, bounds: list[Key], keys: list[Key]
) -> list[int]:
    """Number of bounds less than or equal to each key, in the sort order of the database."""
    names = [f"k{index}" for index in range(len(table.key))]
    typed = ", ".join(f"{n}::{t}" for n, t in zip(names, table.key_types, strict=True))
    value = typed if len(names) == 1 else f"row({typed})"
    arrays = ", ".join(["%s::text[]"] * len(names))
    ordered = f"unnest({arrays}) with ordinality as k({', '.join(names)}, place)"
    rows = connection.execute(
        f"with bounds as materialized "
        f"(select array(select {value} from {ordered} order by place) as b) "
        f"select width_bucket({value}, (select b from bounds)) from {ordered} order by place",
        [*map(list, zip(*bounds, strict=True)), *map(list, zip(*keys, strict=True))],
    )
    return [bucket for (bucket,) in rows]


def _key_columns(table: CapturedTable) -> str:
    return f"({columns_in_query(table.key)})"


def _key_values(table: CapturedTable) -> str:
    return f"({', '.join(f'%s::text::{key_type}' for key_type in table.key_types)})"


def open_snapshot_connection(connection: Any) -> Any:
    """A connection on which each transaction reads one snapshot."""
    connection.isolation_level = import_psycopg().IsolationLevel.REPEATABLE_READ
    connection.read_only = True
    return connection
