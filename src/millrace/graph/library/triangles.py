"""`TriangleListing`, `TriangleEnumerator` and `TriangleCount`: algorithms that find triangles."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from millrace.graph.kernels.adjacency import AdjacencyView, distinct_neighbours
from millrace.graph.kernels.labels import OrderedLabels
from millrace.graph.kernels.segments import Array
from millrace.graph.kernels.triangles import find_triangles
from millrace.graph.library.superstep_algorithm import Columns, RowsAlgorithm
from millrace.graph.library.superstep_analytic import SuperstepAnalytic, one_row
from millrace.runtime.supersteps.superstep_program import SuperstepProgram

__all__ = ["TriangleCount", "TriangleEnumerator", "TriangleListing"]


class TriangleListing(RowsAlgorithm):
    """All triangles, each once. Self-loops and parallel edges do not count.

    Rows of the result: ``vertex_id_0``, ``vertex_id_1``, ``vertex_id_2``. If directed, also
    ``bitmask``, which has two bits for each pair: from the highest, the pairs (0, 1), (0, 2) and
    (1, 2). The lower bit of a pair says that an edge leads from the first to the second vertex, the
    higher bit that one leads back. Gelly: ``library.clustering.directed`` and ``.undirected``.

    Each edge is looked at from its end of lower degree. Costs about m * sqrt(m) for m edges at
    worst, far less on graphs in which few vertices have many edges. Memory beside the result: the
    task's part of the graph, and a part of that of other tasks at a time.

    Args:
        directed: whether the result has the edges' directions.
        sort_triangle_vertices: whether the vertices of each triangle are in the order of their ids.

    Example::

        >>> triangles = graph.run(TriangleListing(directed=True))  # doctest: +SKIP
    """

    def __init__(self, *, directed: bool = False, sort_triangle_vertices: bool = False) -> None:
        self.directed = directed
        self.sort_triangle_vertices = sort_triangle_vertices

    def columns(self, ids: Any, values: Any) -> Columns:
        named = {f"vertex_id_{place}": ids for place in range(3)}
        return {**named, "bitmask": "int8"} if self.directed else named

    def program(self) -> SuperstepProgram:
        return _ListingProgram(self.directed, self.sort_triangle_vertices)


class TriangleEnumerator(TriangleListing):
    """`TriangleListing` without directions, under the name of Gelly's ``TriangleEnumerator``. The
    ids of a triangle are in ascending order."""

    def __init__(self) -> None:
        super().__init__(sort_triangle_vertices=True)


class TriangleCount(SuperstepAnalytic[int]):
    """Number of triangles, whatever the directions of edges. It takes as long as `TriangleListing`,
    but needs no memory for the triangles.

    Example::

        >>> number = graph.run(TriangleCount())  # doctest: +SKIP
    """

    sums = ("triangles",)

    def program(self) -> SuperstepProgram:
        return _CountProgram()

    def result_of(self, numbers: dict[str, int]) -> int:
        return numbers["triangles"]


class _ListingProgram(SuperstepProgram):
    def __init__(self, directed: bool, is_sorted: bool) -> None:
        self._directed = directed
        self._is_sorted = is_sorted
        self._found: list[tuple[Array, Array]] = []

    def superstep(self, number: int) -> bool:
        view = distinct_neighbours(self.partition, self.exchange)
        find_triangles(view, self._keep)
        slots = np.concatenate(
            [np.zeros((0, 3), np.int32), *(triangles for triangles, _ in self._found)]
        )
        bits = np.concatenate([np.zeros(0, np.uint8), *(bits for _, bits in self._found)])
        self._found.clear()
        if self._is_sorted:
            slots, bits = self._in_order(view, slots, bits)
        self._slots, self._bits = slots, bits
        self._ids = view.pull_column(self.partition.ids)
        return False

    def result(self) -> Mapping[str, Any]:
        import pyarrow as pa

        columns = {
            f"vertex_id_{place}": self._ids.take(pa.array(self._slots[:, place]))
            for place in range(3)
        }
        return {**columns, "bitmask": self._bits.astype(np.int8)} if self._directed else columns

    def _keep(self, first: Array, second: Array, third: Array, bits: Array) -> None:
        self._found.append((np.stack([first, second, third], axis=1).astype(np.int32), bits))

    def _in_order(self, view: AdjacencyView, slots: Array, bits: Array) -> tuple[Array, Array]:
        labels = OrderedLabels(self.partition.ids, self.exchange, "ids of vertices")
        ranks = view.exchange.pull(labels.ranks)
        order = np.argsort(ranks[slots], axis=1)
        rows = np.arange(len(slots))
        pairs = np.zeros((len(slots), 3, 3), dtype=np.uint8)
        for shift, (low, high) in ((4, (0, 1)), (2, (0, 2)), (0, (1, 2))):
            pair = bits >> shift & 3
            pairs[:, low, high] = pair
            pairs[:, high, low] = pair >> 1 | (pair & 1) << 1
        low, middle, high = order.T
        sorted_bits = (
            pairs[rows, low, middle] << 4 | pairs[rows, low, high] << 2 | pairs[rows, middle, high]
        )
        return np.take_along_axis(slots, order, axis=1), sorted_bits


class _CountProgram(SuperstepProgram):
    def superstep(self, number: int) -> bool:
        self._count = 0
        find_triangles(distinct_neighbours(self.partition, self.exchange), self._add)
        return False

    def result(self) -> Mapping[str, Any]:
        return one_row({"triangles": self._count})

    def _add(self, first: Array, second: Array, third: Array, bits: Array) -> None:
        self._count += len(first)
