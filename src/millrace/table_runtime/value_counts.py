"""`ValueCounts`: number of occurrences of each value in each group. Used for DISTINCT, and for
MIN and MAX with retractions. Flink: ``DistinctViewAggregate``, ``MinWithRetractAggFunction``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millrace.state.columns.columnar_table import ColumnsOf
from millrace.state.columns.hash_index import Positions, distinct, first_of_each
from millrace.state.columns.multi_index import MultiIndex
from millrace.state.columns.positions import ValueColumn
from millrace.state.columns.slot_table import SlotTable
from millrace.state.store import SubtaskState
from millrace.state.table_id import TableId
from millrace.state.table_kinds import COLUMN_MAP

__all__ = ["Transitions", "ValueCounts"]

_COUNT = ValueColumn(np.dtype(np.int64), name="count")


class Transitions(NamedTuple):
    """Changes of groups: the values that each group has gained or lost.

    Attributes:
        rows: a row of the batch for each.
        signs: 1: it is new, -1: it is gone.
    """

    rows: Positions
    signs: npt.NDArray[np.int8]


class ValueCounts:
    """The values of groups with their counts. The state's key is (group key, value).

    Args:
        state: state of the subtask.
        name: name of the table.
        key: types of the group's columns.
        value: type of the value.
        groups: the table that stores the groups in its slots.
        inner: types of further columns that identify a group besides the key, such as its window.
    """

    def __init__(
        self,
        state: SubtaskState,
        name: TableId,
        key: Sequence[pa.DataType],
        value: pa.DataType,
        groups: SlotTable,
        inner: Sequence[pa.DataType] = (),
    ) -> None:
        self._groups = groups
        self._table: SlotTable = state.table(name, COLUMN_MAP)
        self._table.bind(ColumnsOf(tuple(key), (*inner, value), values=(_COUNT,)))
        self._index = MultiIndex()

    def restore(self) -> None:
        """Rebuild the values of each group after a restore has changed the tables."""
        self._index = MultiIndex()
        slots = self._table.live_slots()
        if slots.size:
            keys = self._table.keys_at(slots)[:-1]
            groups = self._groups.slots_of(keys, create=False, count=slots.size)
            known = groups >= 0
            self._index.add(groups[known], slots[known])

    def update(
        self, groups: Positions, values: pa.Array, signs: npt.NDArray[np.int8] | None
    ) -> Transitions:
        """Count the values of a batch."""
        table = self._table
        slots = table.slots_of([*self._keys(groups), values], create=True)
        table.touch(slots)
        counts = table.column(0)
        touched, firsts = first_of_each(slots)
        before = counts.take(touched) > 0
        np.add.at(counts, slots, 1 if signs is None else signs)
        now = counts.take(touched) > 0
        new, gone = now & ~before, ~now
        self._index.add(groups.take(firsts[new]), touched[new])
        if gone.any():
            table.remove(touched[gone])
            left = distinct(groups.take(firsts[gone & before]))
            if left.size:
                self._index.purge(left, table.space.live.take)
        changed = new | (gone & before)
        return Transitions(firsts[changed], np.where(now[changed], 1, -1).astype(np.int8))

    def _keys(self, groups: Positions) -> list[pa.Array]:
        """Keys of a batch's groups, once per group."""
        distinct_ = distinct(groups)
        places = np.empty(int(distinct_[-1]) + 1, np.int64)
        places[distinct_] = np.arange(distinct_.size)
        of_rows = pa.array(places.take(groups))
        keys = self._groups.keys_at(distinct_)
        return [pa.DictionaryArray.from_arrays(of_rows, key) for key in keys]

    def of_groups(self, groups: Positions) -> tuple[Positions, pa.Array]:
        """The values of some groups, and the group of each value. All groups must be different."""
        slots = self._index.rows(groups)
        owners = np.repeat(groups, self._index.counts(groups))
        return owners, self._table.keys_at(slots)[-1]

    def remove(self, groups: Positions) -> None:
        """Remove all values of some groups. The groups must be all different."""
        slots = self._index.rows(groups)
        if slots.size:
            self._table.remove(slots)
            filled = groups[self._index.counts(groups) > 0]
            self._index.purge(filled, self._table.space.live.take)
