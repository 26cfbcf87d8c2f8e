"""`JdbcTableLookup`: rows of a database's table by key, for joins in SQL."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from millrace.common.functions.lookup_functions import Key, Rows, ScanningLookupFunction
from millrace.connectors.jdbc.lookup import JdbcLookups, LookupSettings

__all__ = ["JdbcTableLookup"]


class JdbcTableLookup(ScanningLookupFunction):
    """Looks many keys up in one query, or reads all rows."""

    def __init__(self, settings: LookupSettings) -> None:
        self._settings = settings
        self._lookups: JdbcLookups | None = None

    def lookup(self, keys: Sequence[Key]) -> Rows:
        rows_by_key = self._connected().rows(list(keys))
        return {key: [tuple(row) for row in rows] for key, rows in rows_by_key.items()}

    def scan(self) -> Iterable[tuple[Key, Sequence[Any]]]:
        return self._connected().all_rows()

    def _connected(self) -> JdbcLookups:
        if self._lookups is None:
            self._lookups = JdbcLookups(self._settings)
        return self._lookups

    def close(self) -> None:
        if self._lookups is not None:
            self._lookups.close()
