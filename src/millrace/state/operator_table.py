"""Table of operator state, which belongs to a subtask and not to keys."""

from __future__ import annotations

from typing import Any

from millrace.state.flat_table import FlatTable
from millrace.state.table import KeyFilter, TableDelta


class OperatorTable(FlatTable):
    """State of a subtask rather than of keys; no key filter applies to it."""

    def apply(self, table_delta: TableDelta, keep: KeyFilter | None = None) -> None:
        super().apply(table_delta)

    def split(self, subtask: int, parallelism: int) -> None:
        """Keep one subtask's share of a list: each ``parallelism``-th element, from element number
        ``subtask`` on. A key of the list is a pair (former subtask, number).
        """
        self._keep(sorted(self.data)[subtask::parallelism], subtask)

    def renumber(self, subtask: int) -> None:
        """Renumber all elements of a list as elements of ``subtask``, in their order."""
        self._keep(sorted(self.data), subtask)

    def _keep(self, places: list[Any], subtask: int) -> None:
        kept = {(subtask, number): self.data[place] for number, place in enumerate(places)}
        self.data.clear()
        self.data.update(kept)
