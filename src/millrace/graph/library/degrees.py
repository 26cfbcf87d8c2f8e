"""Degrees of vertices, and of the ends of edges."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from millrace.graph.kernels.adjacency import IN, OUT, distinct_neighbours
from millrace.graph.library.superstep_algorithm import Columns, RowsAlgorithm
from millrace.runtime.supersteps.superstep_program import SuperstepProgram

__all__ = ["EdgeDegreesPair", "VertexDegrees"]


class VertexDegrees(RowsAlgorithm):
    """Rows of the id, ``degree``, ``out_degree`` and ``in_degree``: the numbers of a vertex's
    distinct neighbours, targets and sources. Self-loops and parallel edges do not count. Gelly:
    ``asm.degree.annotate.directed.VertexDegrees``. Gelly's ``VertexDegree``, ``VertexInDegree`` and
    ``VertexOutDegree`` are columns of these rows.

    Costs a sort of the edges.

    Args:
        include_zero_degree_vertices: whether the result has vertices without neighbours.
    """

    def __init__(self, *, include_zero_degree_vertices: bool = False) -> None:
        self.include_zero_degree_vertices = include_zero_degree_vertices

    def columns(self, ids: Any, values: Any) -> Columns:
        return {"id": ids, **dict.fromkeys(("degree", "out_degree", "in_degree"), "int64")}

    def program(self) -> SuperstepProgram:
        return _DegreesProgram(self.include_zero_degree_vertices)


class EdgeDegreesPair(RowsAlgorithm):
    """Rows of ``source``, ``target``, and for both the degree, out-degree and in-degree as in
    `VertexDegrees`: ``source_degree``, ``source_out_degree``, ... ``target_in_degree``. Gelly:
    ``asm.degree.annotate.directed.EdgeDegreesPair``. Gelly's ``EdgeSourceDegrees`` and
    ``EdgeTargetDegrees`` are columns of these rows.

    Costs a sort of the edges. A row for each edge of the graph, also of parallel ones.
    """

    def columns(self, ids: Any, values: Any) -> Columns:
        degrees = [f"{end}_{name}" for end in ("source", "target") for name in _NAMES]
        return {"source": ids, "target": ids, **dict.fromkeys(degrees, "int64")}

    def program(self) -> SuperstepProgram:
        return _EdgeDegreesProgram()


_NAMES = ("degree", "out_degree", "in_degree")


class _DegreesProgram(SuperstepProgram):
    def __init__(self, has_all: bool) -> None:
        self._has_all = has_all

    def superstep(self, number: int) -> bool:
        view = distinct_neighbours(self.partition, self.exchange)
        bits, degrees = view.edge_values, view.partition.out_degrees
        columns = [degrees]
        for bit in (OUT, IN):
            has_bit = (bits & bit > 0).astype(np.int64)
            columns.append(view.partition.combine_at_sources(has_bit, "sum", 0))
        self.degrees = np.stack(columns, axis=1)
        return False

    def result(self) -> Mapping[str, Any]:
        import pyarrow as pa

        shown = self.degrees[:, 0] >= (0 if self._has_all else 1)
        columns = dict(zip(_NAMES, self.degrees[shown].T, strict=True))
        return {"id": self.partition.ids.filter(pa.array(shown)), **columns}


class _EdgeDegreesProgram(_DegreesProgram):
    def __init__(self) -> None:
        super().__init__(True)

    def superstep(self, number: int) -> bool:
        super().superstep(number)
        self._slots = self.exchange.pull(self.degrees)
        return False

    def result(self) -> Mapping[str, Any]:
        import pyarrow as pa

        partition = self.partition
        ids = partition.slot_ids
        columns: dict[str, Any] = {}
        for end, slots in (("source", partition.sources), ("target", partition.targets)):
            columns[end] = ids.take(pa.array(slots))
        for end, slots in (("source", partition.sources), ("target", partition.targets)):
            for name, degrees in zip(_NAMES, self._slots[slots].T, strict=True):
                columns[f"{end}_{name}"] = degrees
        return columns
