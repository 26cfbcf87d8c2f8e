"""Division of a subtask's state among the subtasks of another parallelism. The former owner
divides its decoded state, so that the new subtasks read only their own parts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from millrace.state.key_groups import owners_of_keys
from millrace.state.kinds.layout import Layout
from millrace.state.kinds.table_kind import TableKind
from millrace.state.table import TableDelta

MOST_BYTES = 256 << 20
"""Limit for the bytes of state that is divided: with more, the parts would not fit into memory
beside it."""


def is_continued(kind: TableKind) -> bool:
    """Whether a subtask that takes over parts of a table writes only its changes afterwards. The
    parts have rows with different keys, so they are the table if they are applied one after the
    other. State without keys is merged, and columns number their rows anew."""
    return kind.is_keyed and kind.columnar is None


class Division:
    """Divides tables among subtasks by key group. Entries without a key go to all subtasks."""

    def __init__(self, parallelism: int, max_parallelism: int) -> None:
        self.parallelism = parallelism
        self._max_parallelism = max_parallelism

    def divide(self, kind: TableKind, table_delta: TableDelta) -> list[TableDelta]:
        """Divide a table delta among the subtasks: one table delta for each. ``kind`` is the
        kind of the table; the table delta must not remove entries."""
        if not kind.is_keyed or self.parallelism == 1:
            return [table_delta] * self.parallelism
        if kind.columnar is not None and table_delta["put"]:
            parts = self._columns(kind.key_of, table_delta["put"])
            return [{**table_delta, "put": part} for part in parts]
        divide = self._nested if kind.layout is Layout.NESTED else self._flat
        return [{**table_delta, "put": put} for put in divide(kind.key_of, table_delta["put"])]

    def _columns(self, key_of: Callable[..., Any], put: Any) -> list[Any]:
        from millrace.state.column_key_groups import owners_of_columns
        from millrace.state.columns.column_entries import ColumnEntries

        if not isinstance(put, ColumnEntries) or not put.key:
            return list(self._flat(key_of, put))
        columns = put.key_columns()[: put.key]
        keys = columns[0] if put.key == 1 else tuple(columns)
        owners = owners_of_columns(keys, self.parallelism, self._max_parallelism, sql_keys=True)
        return [put.where(owners == owner) for owner in range(self.parallelism)]

    def _owners(self, keys: list[Any]) -> Iterator[int]:
        return iter(owners_of_keys(keys, self.parallelism, self._max_parallelism))

    def _flat(self, key_of: Callable[..., Any], entries: dict[Any, Any]) -> list[dict[Any, Any]]:
        puts: list[dict[Any, Any]] = [{} for _ in range(self.parallelism)]
        owners = self._owners([key_of(key) for key in entries])
        for owner, (key, value) in zip(owners, entries.items(), strict=True):
            puts[owner][key] = value
        return puts

    def _nested(
        self, key_of: Callable[..., Any], entries: dict[Any, dict[Any, Any]]
    ) -> list[dict[Any, dict[Any, Any]]]:
        puts: list[dict[Any, dict[Any, Any]]] = [{} for _ in range(self.parallelism)]
        owners = self._owners([key_of(outer, i) for outer, below in entries.items() for i in below])
        for outer, below in entries.items():
            for inner, value in below.items():
                puts[next(owners)].setdefault(outer, {})[inner] = value
        return puts
