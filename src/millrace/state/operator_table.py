"""State of a subtask rather than of keys."""

from __future__ import annotations

from millrace.state.flat_table import FlatTable
from millrace.state.table import Delta, KeyFilter


class OperatorTable(FlatTable):
    """State of a subtask rather than of keys: every subtask takes over all of it."""

    def apply(self, delta: Delta, keep: KeyFilter | None = None) -> None:
        super().apply(delta)

    def deal_out(self, subtask: int, parallelism: int) -> None:
        """Keep the share of one subtask; entries have places of (subtask, number)."""
        mine = sorted(self.data)[subtask::parallelism]
        dealt = {(subtask, number): self.data[place] for number, place in enumerate(mine)}
        self.data.clear()
        self.data.update(dealt)
