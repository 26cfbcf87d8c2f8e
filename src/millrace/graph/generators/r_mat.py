"""`RMatGraph`: random graphs with the skewed degrees of real ones.

Source: Chakrabarti, Zhan, Faloutsos: "R-MAT: A Recursive Model for Graph Mining" (SDM 2004).
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt

from millrace.common.errors import JobDefinitionError
from millrace.graph.data_set import DataSet
from millrace.graph.elements import Vertex
from millrace.graph.generators.edge_blocks import Ends, GraphGenerator, require_at_least

__all__ = ["RMatGraph"]


class RMatGraph(GraphGenerator):
    """A directed multigraph whose degrees follow a power law.

    Each edge chooses one of four quadrants of the adjacency matrix, then one of the four quadrants
    of this quadrant, and so on. The vertices are the ends of edges, so there may be fewer than
    ``vertex_count``.

    Args:
        vertex_count: number of ids, rounded up to a power of two.
        edge_count: number of edges.
        seed: seed of the random numbers: the same seed gives the same graph, at any parallelism.
    """

    DEFAULT_A, DEFAULT_B, DEFAULT_C = 0.57, 0.19, 0.19
    DEFAULT_NOISE = 0.10

    def __init__(self, vertex_count: int, edge_count: int, seed: int = 0) -> None:
        require_at_least("the number of vertices", vertex_count, 1)
        require_at_least("the number of edges", edge_count, 1)
        require_at_least("the seed", seed, 0)
        self._levels = max(int(vertex_count) - 1, 0).bit_length()
        self._edge_count = edge_count
        self._seed = seed
        self._constants = (self.DEFAULT_A, self.DEFAULT_B, self.DEFAULT_C)
        self._noise = 0.0

    def set_constants(self, a: float, b: float, c: float) -> Self:
        """Set the probabilities of three quadrants: of edges within the first half of the ids, from
        the first half to the second, and from the second to the first. The fourth quadrant gets the
        rest.

        Raises:
            JobDefinitionError: a probability is negative, or their sum is greater than 1.
        """
        if min(a, b, c) < 0 or a + b + c > 1:
            raise JobDefinitionError(
                f"the probabilities have to be at least 0, with a sum of at most 1, got {a}, {b} "
                f"and {c}"
            )
        self._constants = (a, b, c)
        return self

    def set_noise(self, noise_enabled: bool, noise: float = DEFAULT_NOISE) -> Self:
        """Change the probabilities randomly in each step, which smooths the distribution of
        degrees.

        Args:
            noise: the greatest relative change, from 0 to 2.

        Raises:
            JobDefinitionError: the noise is not between 0 and 2.
        """
        if not 0 <= noise <= 2:
            raise JobDefinitionError(f"the noise has to be between 0 and 2, got {noise}")
        self._noise = noise if noise_enabled else 0.0
        return self

    @property
    def vertex_count(self) -> int:
        return 1 << self._levels

    @property
    def units(self) -> int:
        return self._edge_count

    def edges_of(self, start: int, stop: int, block: int) -> Ends:
        draw = np.random.default_rng([self._seed, block])
        count = stop - start
        sources, targets = np.zeros(count, np.int64), np.zeros(count, np.int64)
        for _ in range(self._levels):
            first, second, third = self._limits(draw, count)
            chance = draw.random(count)
            down = chance >= second
            right = (chance >= first) & ~down | (chance >= third)
            sources = sources << 1 | down
            targets = targets << 1 | right
        return sources, targets

    def _limits(self, draw: np.random.Generator, count: int) -> tuple[Any, Any, Any]:
        """Upper limits of the first three quadrants; with noise, those of each edge."""
        a, b, c = self._constants
        if not self._noise:
            return a, a + b, a + b + c
        changes = 1 + self._noise * (draw.random((4, count)) - 0.5)
        parts: npt.NDArray[np.float64] = np.array([[a], [b], [c], [1 - a - b - c]]) * changes
        sums = np.cumsum(parts, axis=0) / parts.sum(axis=0)
        return sums[0], sums[1], sums[2]

    def _vertices(self, edges: DataSet[Any]) -> DataSet[Any]:
        from millrace.spark.graphs.relations import ids_of_edges, with_nulls

        kinds = (edges.types[0], edges.types[2])
        return DataSet(with_nulls(ids_of_edges(edges.to_dataframe())), Vertex, kinds)
