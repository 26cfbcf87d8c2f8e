"""Generators of graphs without chance: circulant, complete, cycle, path, star, grid and others.

Each undirected edge occurs in both directions, as in Gelly.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from millrace.common.errors import JobDefinitionError
from millrace.graph.generators.edge_blocks import Ends, GraphGenerator, require_at_least

__all__ = [
    "CirculantGraph",
    "CompleteGraph",
    "CycleGraph",
    "EchoGraph",
    "EmptyGraph",
    "GridGraph",
    "HypercubeGraph",
    "PathGraph",
    "SingletonEdgeGraph",
    "StarGraph",
]

_EDGES_PER_PORTION = 1_048_576


class _VertexBlocks(GraphGenerator):
    """Generator that makes, for each vertex, the edges that begin at it."""

    def __init__(self, vertex_count: int) -> None:
        self._vertex_count = vertex_count

    @property
    def vertex_count(self) -> int:
        return self._vertex_count

    @property
    def units(self) -> int:
        return self._vertex_count


class CirculantGraph(_VertexBlocks):
    """Graph in which each vertex has edges to the vertices at certain offsets after it.

    Args:
        vertex_count: number of vertices, at least 2.

    Example:
        >>> table = CirculantGraph(4).add_range(1, 2).edge_table()
        >>> list(zip(*(table[name].to_pylist() for name in ("source", "target"))))
        [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3), (2, 0), (3, 0), (3, 1)]
    """

    def __init__(self, vertex_count: int) -> None:
        require_at_least("the number of vertices", vertex_count, 2)
        super().__init__(vertex_count)
        self._ranges: list[tuple[int, int]] = []

    def add_range(self, offset: int, length: int) -> Self:
        """Add edges at the offsets from ``offset`` to ``offset + length - 1``.

        Raises:
            JobDefinitionError: an offset is not between 1 and the number of vertices - 1, or
                ranges overlap.
        """
        require_at_least("the offset", offset, 1)
        require_at_least("the length", length, 1)
        last = offset + length - 1
        if last >= self.vertex_count:
            raise JobDefinitionError(
                f"the offsets {offset} to {last} have to be less than the number of vertices, "
                f"{self.vertex_count}"
            )
        for start, count in self._ranges:
            if start <= last and offset < start + count:
                raise JobDefinitionError(
                    f"the offsets {offset} to {last} overlap {start} to {start + count - 1}"
                )
        self._ranges.append((offset, length))
        return self

    def edges_of(self, start: int, stop: int, block: int) -> Ends:
        offsets = [np.arange(first, first + count) for first, count in sorted(self._ranges)]
        shifts = np.concatenate([np.empty(0, np.int64), *offsets]).astype(np.int64)
        sources = np.repeat(np.arange(start, stop), len(shifts))
        targets = sources + np.tile(shifts, stop - start)
        return sources, targets % self.vertex_count

    def _portions(self, start: int, stop: int, block: int) -> Iterator[Ends]:
        degree = sum(count for _, count in self._ranges)
        step = max(1, _EDGES_PER_PORTION // max(degree, 1))
        for first in range(start, stop, step):
            yield self.edges_of(first, min(first + step, stop), block)


class CompleteGraph(CirculantGraph):
    """Graph with an edge between each two vertices, in both directions."""

    def __init__(self, vertex_count: int) -> None:
        super().__init__(vertex_count)
        self.add_range(1, vertex_count - 1)


class CycleGraph(CirculantGraph):
    """Graph of a single cycle, with edges in both directions."""

    def __init__(self, vertex_count: int) -> None:
        super().__init__(vertex_count)
        self.add_range(1, 1)
        if vertex_count > 2:
            self.add_range(vertex_count - 1, 1)


class EchoGraph(CirculantGraph):
    """Graph in which each vertex is connected to the vertices farthest from it: a circulant graph
    with the offsets around half the number of vertices.

    Args:
        vertex_count: number of vertices, at least 2.
        vertex_degree: degree of each vertex; even if the number of vertices is odd, and odd if it
            is even.
    """

    def __init__(self, vertex_count: int, vertex_degree: int) -> None:
        super().__init__(vertex_count)
        require_at_least("the degree", vertex_degree, 1)
        if vertex_degree >= vertex_count:
            raise JobDefinitionError(
                f"the degree, {vertex_degree}, has to be less than the number of vertices, "
                f"{vertex_count}"
            )
        if vertex_count % 2 == vertex_degree % 2:
            raise JobDefinitionError(
                f"either the number of vertices, {vertex_count}, or the degree, {vertex_degree}, "
                "has to be even, and the other one odd: else no range of offsets has its middle "
                "opposite to the vertex"
            )
        self.add_range((vertex_count - vertex_degree + 1) // 2, vertex_degree)


class EmptyGraph(_VertexBlocks):
    """Graph without edges."""

    def __init__(self, vertex_count: int) -> None:
        require_at_least("the number of vertices", vertex_count, 0)
        super().__init__(vertex_count)

    def edges_of(self, start: int, stop: int, block: int) -> Ends:
        nothing = np.empty(0, np.int64)
        return nothing, nothing


class PathGraph(_VertexBlocks):
    """Graph of a single path, with edges in both directions."""

    def __init__(self, vertex_count: int) -> None:
        require_at_least("the number of vertices", vertex_count, 2)
        super().__init__(vertex_count)

    def edges_of(self, start: int, stop: int, block: int) -> Ends:
        ids = np.arange(start, stop)
        return _inside(
            np.concatenate([ids, ids]), np.concatenate([ids + 1, ids - 1]), self.vertex_count
        )


class StarGraph(_VertexBlocks):
    """Graph in which vertex 0 is connected to all others, in both directions."""

    def __init__(self, vertex_count: int) -> None:
        require_at_least("the number of vertices", vertex_count, 2)
        super().__init__(vertex_count)

    def edges_of(self, start: int, stop: int, block: int) -> Ends:
        leaves = np.arange(max(start, 1), stop)
        center = np.zeros_like(leaves)
        return np.concatenate([center, leaves]), np.concatenate([leaves, center])


class SingletonEdgeGraph(_VertexBlocks):
    """Graph of isolated pairs of vertices, connected in both directions.

    Args:
        vertex_pair_count: number of pairs.
    """

    def __init__(self, vertex_pair_count: int) -> None:
        require_at_least("the number of pairs", vertex_pair_count, 1)
        super().__init__(2 * vertex_pair_count)

    def edges_of(self, start: int, stop: int, block: int) -> Ends:
        ids = np.arange(start, stop)
        return ids, ids ^ 1


class GridGraph(_VertexBlocks):
    """Graph of a grid of one or more dimensions, with edges in both directions.

    Example:
        >>> GridGraph().add_dimension(2, False).add_dimension(4, False).vertex_count
        8
    """

    def __init__(self) -> None:
        super().__init__(1)
        self._dimensions: list[tuple[int, bool]] = []

    def add_dimension(self, size: int, wrap_endpoints: bool) -> Self:
        """Add a dimension.

        Args:
            size: number of vertices along the dimension, at least 2.
            wrap_endpoints: whether the first and the last vertex are connected, if there are at
                least 3.
        """
        require_at_least("the size of a dimension", size, 2)
        self._dimensions.append((size, wrap_endpoints))
        self._vertex_count *= size
        return self

    def generate(self) -> Any:
        """The graph.

        Raises:
            JobDefinitionError: the grid has no dimension.
        """
        if not self._dimensions:
            raise JobDefinitionError("a grid has at least one dimension: call add_dimension()")
        return super().generate()

    def edges_of(self, start: int, stop: int, block: int) -> Ends:
        ids = np.arange(start, stop, dtype=np.int64)
        sources: list[npt.NDArray[np.int64]] = []
        targets: list[npt.NDArray[np.int64]] = []
        stride = self.vertex_count
        for size, wraps in self._dimensions:
            stride //= size
            place = ids // stride % size
            for step in (1, -1):
                moved = place + step
                inside = (moved >= 0) & (moved < size) | (wraps and size > 2)
                sources.append(ids[inside])
                targets.append((ids + (moved % size - place) * stride)[inside])
        nothing = [np.empty(0, np.int64)]
        return np.concatenate(sources or nothing), np.concatenate(targets or nothing)


class HypercubeGraph(_VertexBlocks):
    """Graph of a hypercube: vertices whose ids differ in one bit are connected, in both directions.

    Args:
        dimensions: number of dimensions; the graph has two to the power of it vertices.
    """

    def __init__(self, dimensions: int) -> None:
        require_at_least("the number of dimensions", dimensions, 1)
        super().__init__(2**dimensions)
        self._dimensions = dimensions

    def edges_of(self, start: int, stop: int, block: int) -> Ends:
        ids = np.arange(start, stop, dtype=np.int64)
        sources = np.repeat(ids, self._dimensions)
        bits = np.tile(1 << np.arange(self._dimensions, dtype=np.int64), len(ids))
        return sources, sources ^ bits


def _inside(
    sources: npt.NDArray[np.int64], targets: npt.NDArray[np.int64], vertex_count: int
) -> Ends:
    kept = (targets >= 0) & (targets < vertex_count)
    return sources[kept], targets[kept]
