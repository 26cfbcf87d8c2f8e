"""Components of a graph, from the forests of its parts (see `forest_operator`)."""

from __future__ import annotations

from enum import Enum

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from millrace.common.types.batch import ColumnBatch
from millrace.graph.streams.changelog import PacedOperator, changelog
from millrace.graph.streams.edge_columns import CHANGE, HIGH, LOW, numbers_of
from millrace.graph.streams.edge_table import VERTEX, slot_table
from millrace.graph.streams.forest_operator import SIDE, edge_keys
from millrace.graph.streams.node_numbers import NodeNumbers
from millrace.graph.streams.spanning_forest import SpanningForest
from millrace.state.columns.columnar_table import ColumnsOf
from millrace.state.columns.hash_index import Positions, distinct

__all__ = ["BIPARTITE", "COMPONENT", "SIDE_OF", "ComponentsOperator", "EmittedComponents"]

COMPONENT, SIDE_OF, BIPARTITE = "component", "side", "bipartite"
_ABSENT = -1
_LEFT, _RIGHT, _ODD = range(3)
"""Codes of a vertex's side; `_ODD` in a component that is not bipartite."""


class EmittedComponents(Enum):
    """The results that a components operator emits."""

    COMPONENTS = "components"
    """Each vertex with the smallest vertex of its component."""
    SIDES = "sides"
    """Further the side of the vertex in a bipartite component."""
    BIPARTITE = "bipartite"
    """One row: whether the graph is bipartite."""

    @property
    def needs_cover(self) -> bool:
        """Whether the forests belong to the double cover of the graph."""
        return self is not EmittedComponents.COMPONENTS


class ComponentsOperator(PacedOperator):
    """Keeps the edges of all forests, and the component of each vertex. It runs in one subtask.

    A component is named after its smallest vertex, so results depend on nothing but the graph.

    Args:
        vertex_type: type of the ids.
        shown: what the operator gives.
    """

    def __init__(self, vertex_type: pa.DataType, shown: EmittedComponents) -> None:
        self._vertex, self._show = vertex_type, shown
        self._cover = shown.needs_cover

    def open(self) -> None:
        super().open()
        columns = ColumnsOf(edge_keys(self._vertex), (pa.int8(),), (), (), (LOW, HIGH))
        self._table = slot_table(self.context, "@forests", columns)
        fields = {VERTEX: self._vertex, COMPONENT: self._vertex}
        if self._show is EmittedComponents.SIDES:
            fields[SIDE_OF] = pa.bool_()
        elif self._show is EmittedComponents.BIPARTITE:
            fields = {BIPARTITE: pa.bool_()}
        self._schema = pa.schema(fields)

    def restore(self) -> None:
        self._added: list[Positions] = []
        self._cut = self._is_changed = False
        self._derive()

    def _derive(self) -> None:
        """Number the vertices, and find what has been shown."""
        self._nodes, self._forest = NodeNumbers(self._vertex), SpanningForest()
        self._degree = np.zeros(0, np.int64)
        self._codes = np.zeros(0, np.int64)
        self._was_bipartite: bool | None = None
        slots = self._table.live_slots()
        if slots.size:
            self._set_ends(slots)
            self._count(slots, 1)
            self._forest.link(slots)
            self._codes = self._new_codes()
            self._was_bipartite = self._is_bipartite(self._codes)

    # -- changes -----------------------------------------------------------------------

    def process_columns(self, number: int, batch: ColumnBatch) -> None:
        if not len(batch):
            return
        data, table = batch.data, self._table
        change = numbers_of(data, CHANGE)
        # of rows about one edge the last one counts
        keys = [data.column(LOW), data.column(HIGH), data.column(SIDE)]
        known = table.slots_of(keys, create=False)
        slots = table.slots_of(keys, create=True)
        last = np.zeros(int(slots.max()) + 1, np.int64)
        last[slots] = np.arange(slots.size)
        rows = last.take(distinct(slots))
        is_added, was_there = change.take(rows) > 0, known.take(rows) >= 0
        slots = slots.take(rows)
        table.remove(slots[~is_added])
        new, gone = slots[is_added & ~was_there], slots[~is_added & was_there]
        if new.size:
            self._set_ends(new)
            self._count(new, 1)
            self._added.append(new)
        if gone.size:
            self._count(gone, -1)
            self._cut = self._forest.cut(gone) or self._cut
        self._is_changed = True

    def has_changes(self) -> bool:
        return self._is_changed

    def give_results(self) -> None:
        if self._cut:
            self._forest.repair(self._table.live_slots())
        elif self._added:
            added = distinct(np.concatenate(self._added))
            self._forest.link(added[self._table.space.live.take(added)])
        self._added, self._cut, self._is_changed = [], False, False
        codes = self._new_codes()
        if self._show is EmittedComponents.BIPARTITE:
            self._emit_bipartite(self._is_bipartite(codes))
        else:
            self._emit_changed(self._codes, codes)
        self._codes = codes
        if self._nodes.is_sparse(self._table.space.count):
            self._derive()

    def _set_ends(self, slots: Positions) -> None:
        low, high, side = self._table.keys_at(slots)
        x, y = self._nodes.of(low), self._nodes.of(high)
        if self._cover:
            sides = side.to_numpy(zero_copy_only=False).astype(np.int64)
            self._forest.set_ends(slots, 2 * x + sides, 2 * y + 1 - sides)
            self._forest.reach(2 * self._nodes.count)
        else:
            self._forest.set_ends(slots, x, y)
        if self._degree.size < self._nodes.count:
            more = self._nodes.count - self._degree.size
            self._degree = np.concatenate([self._degree, np.zeros(more, np.int64)])

    def _count(self, slots: Positions, change: int) -> None:
        low, high, _ = self._table.keys_at(slots)
        np.add.at(self._degree, self._nodes.of(low), change)
        np.add.at(self._degree, self._nodes.of(high), change)

    # -- results -----------------------------------------------------------------------

    def _new_codes(self) -> npt.NDArray[np.int64]:
        """Code of each vertex: the number of the smallest vertex of its component, and its side."""
        present = self._degree > 0
        label = self._forest.label
        if not self._cover:
            names = self._names(label, present)
            return np.where(present, 4 * names + _LEFT, _ABSENT)
        one, two = label[::2], label[1::2]
        names = self._names(np.minimum(one, two) >> 1, present)
        side = np.where(one == one.take(names), _LEFT, _RIGHT)
        side[one == two] = _ODD
        return np.where(present, 4 * names + side, _ABSENT)

    def _names(
        self, label: npt.NDArray[np.int64], present: npt.NDArray[np.bool_]
    ) -> npt.NDArray[np.int64]:
        """Number of the smallest vertex of each vertex's component.

        It is one of those that named a component and are in this one, of those that are new, and of
        those whose component's name is not in this one: others are greater than their former name.
        """
        size = label.size
        former = np.full(size, _ABSENT)
        shown = self._codes
        former[: shown.size] = np.where(shown >= 0, shown >> 2, _ABSENT)
        vertices = np.arange(size)
        by_name = former.take(np.maximum(vertices, 0))
        kept = (by_name >= 0) & (label.take(by_name) == label) & present.take(by_name)
        candidates = np.flatnonzero(present & (~kept | (by_name == vertices)))
        named = np.full(size, 0)
        of_label = label.take(candidates)
        alone = np.bincount(of_label, minlength=size) == 1
        single = alone.take(of_label)
        named[of_label[single]] = candidates[single]
        several, labels = candidates[~single], of_label[~single]
        if several.size:
            ids = self._nodes.ids(several)
            order = pc.array_sort_indices(ids, order="descending").to_numpy()
            # the smallest one is written last
            named[labels.take(order)] = several.take(order)
        return named.take(label)

    def _emit_changed(self, former: npt.NDArray[np.int64], codes: npt.NDArray[np.int64]) -> None:
        old = np.full(codes.size, _ABSENT)
        old[: former.size] = former
        changed = np.flatnonzero(old != codes)
        if not changed.size:
            return
        before, now = old.take(changed), codes.take(changed)
        vertices = self._nodes.ids(changed)
        rows = changelog(
            self._schema,
            [vertices, *self._columns(before)],
            [vertices, *self._columns(now)],
            before >= 0,
            now >= 0,
        )
        if rows is not None:
            self.output.emit(rows)

    def _columns(self, codes: npt.NDArray[np.int64]) -> list[pa.Array]:
        columns = [self._nodes.ids(np.maximum(codes, 0) >> 2)]
        if self._show is EmittedComponents.SIDES:
            side = codes & 3
            columns.append(pa.array(side == _RIGHT, mask=side == _ODD))
        return columns

    @staticmethod
    def _is_bipartite(codes: npt.NDArray[np.int64]) -> bool | None:
        """Whether the graph is bipartite. None if it has no vertex."""
        present = codes[codes >= 0]
        return not bool((present & 3 == _ODD).any()) if present.size else None

    def _emit_bipartite(self, is_bipartite: bool | None) -> None:
        was, self._was_bipartite = self._was_bipartite, is_bipartite
        if was == is_bipartite:
            return
        rows = changelog(
            self._schema,
            [pa.array([was], pa.bool_())],
            [pa.array([is_bipartite], pa.bool_())],
            np.array([was is not None]),
            np.array([is_bipartite is not None]),
        )
        assert rows is not None
        self.output.emit(rows)
