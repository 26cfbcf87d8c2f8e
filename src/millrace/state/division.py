"""Division of a subtask's state among the subtasks of another parallelism. The former owner
divides its decoded state, so that the new subtasks read only their own parts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import compress
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from millrace.state.key_groups import owners_of_keys
from millrace.state.kinds.table_kind import TableKind
from millrace.state.table import TableDelta

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

MOST_BYTES = 256 << 20
"""Limit for the bytes of state that is divided: with more, the parts would not fit into memory
beside it."""
MOST_WALKS = 10
"""Number of owners up to which one walk over the entries for each is quicker than one for all."""


def is_continued(kind: TableKind) -> bool:
    """Whether a subtask that takes over parts of a table writes only its changes afterwards. This
    is so if rows of different parts have different keys: the parts, applied one after the other,
    then make up the table. State without keys must be merged, and columns number their rows anew.
    """
    return kind.is_keyed and kind.columnar is None


class TableDivision:
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
            parts = self._columns(kind, table_delta["put"])
            return [{**table_delta, "put": part} for part in parts]
        parts = self._entries(kind, table_delta["put"])
        return [{**table_delta, "put": part} for part in parts]

    def _columns(self, kind: TableKind, put: Any) -> list[Any]:
        from millrace.state.column_key_groups import owners_of_columns
        from millrace.state.columns.column_entries import ColumnEntries

        if not isinstance(put, ColumnEntries) or not put.key:
            return list(self._entries(kind, put))
        columns = put.key_columns()[: put.key]
        keys = columns[0] if put.key == 1 else tuple(columns)
        owners = owners_of_columns(keys, self.parallelism, self._max_parallelism, sql_keys=True)
        return [put.where(owners == owner) for owner in range(self.parallelism)]

    def _entries(self, kind: TableKind, entries: Mapping[Any, Any]) -> list[dict[Any, Any]]:
        puts: list[dict[Any, Any]] = [{} for _ in range(self.parallelism)]
        assert kind.key is not None
        if kind.disjoint:
            index = kind.key.index
            keys = list(entries) if index is None else list(map(itemgetter(index), entries))
            for owner, part in _split(entries, self._owners(keys)):
                puts[owner] = part
            return puts
        key_of, start = kind.key_of, 0
        owners = self._owners([key_of(outer, i) for outer, below in entries.items() for i in below])
        for outer, below in entries.items():
            end = start + len(below)
            for owner, part in _split(below, owners[start:end]):
                puts[owner][outer] = part
            start = end
        return puts

    def _owners(self, keys: list[Any]) -> npt.NDArray[np.uint16]:
        return owners_of_keys(keys, self.parallelism, self._max_parallelism)


def _split(
    entries: Mapping[Any, Any], owners: npt.NDArray[np.uint16]
) -> Iterator[tuple[int, dict[Any, Any]]]:
    """Each owner that occurs, with its entries. A former subtask has entries of few new ones."""
    present = sorted(set(owners.tolist()))
    if len(present) == 1:
        yield present[0], dict(entries)
    elif len(present) <= MOST_WALKS:
        for owner in present:
            # bytes, because a loop over them makes no objects
            yield owner, dict(compress(entries.items(), (owners == owner).tobytes()))
    else:
        parts: dict[int, dict[Any, Any]] = {owner: {} for owner in present}
        for owner, (key, value) in zip(owners.tolist(), entries.items(), strict=True):
            parts[owner][key] = value
        yield from parts.items()
