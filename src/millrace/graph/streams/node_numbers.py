"""Numbers of vertices from 0 on, for arrays by vertex."""

from __future__ import annotations

import pyarrow as pa

from millrace.state.columns.columnar_table import ColumnsOf
from millrace.state.columns.hash_index import Positions
from millrace.state.columns.slot_table import SlotTable

__all__ = ["NodeNumbers"]

_SPARE = 1 << 16
"""Vertices that may have left in any case."""


class NodeNumbers:
    """Numbers of the vertices that a subtask knows. They are not stored: vertices get new numbers
    after a restore.

    Args:
        kinds: types of the ids; several if a vertex is known by several columns.

    Example:
        >>> numbers = NodeNumbers(pa.string())
        >>> numbers.of(pa.array(["b", "a", "b"])).tolist(), numbers.count
        ([0, 1, 0], 2)
    """

    def __init__(self, *kinds: pa.DataType) -> None:
        self._table = SlotTable()
        self._table.bind(ColumnsOf(kinds))

    def of(self, *ids: pa.Array) -> Positions:
        """Number of each vertex. A vertex without a number gets one."""
        numbers = self._table.slots_of(ids, create=True)
        self._table.seal()
        return numbers

    def find(self, *ids: pa.Array) -> Positions:
        """Number of each vertex; -1 for an unknown one."""
        return self._table.slots_of(ids, create=False)

    def ids(self, numbers: Positions) -> pa.Array:
        """Vertices with the given numbers. If a vertex is identified by several columns, only
        the last column."""
        return self._table.keys_at(numbers)[-1]

    def is_sparse(self, edges: int) -> bool:
        """Whether so many vertices have been removed, compared with the number of edges, that
        the vertices should be numbered anew."""
        return self.count > 4 * edges + _SPARE

    @property
    def count(self) -> int:
        """Number of known vertices."""
        return self._table.space.end
