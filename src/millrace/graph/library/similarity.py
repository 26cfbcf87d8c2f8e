"""Similarity of vertices by the neighbours they share: `JaccardIndex`, `AdamicAdar`."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millrace.common.errors import JobDefinitionError
from millrace.graph.kernels.adjacency import AdjacencyView, distinct_neighbours, fetch, numbers_of
from millrace.graph.kernels.segments import Array, combined
from millrace.graph.library.superstep_algorithm import Columns, RowsAlgorithm
from millrace.runtime.supersteps.superstep_program import SuperstepProgram
from millrace.state.columns.multi_index import ranges

__all__ = ["AdamicAdar", "JaccardIndex"]

PAIRS = 1 << 21
"""Pairs of neighbours that a task makes at a time."""
_BITS = 32

Fraction = tuple[int, int]
"""Numerator and denominator."""


class JaccardIndex(RowsAlgorithm):
    """Shared neighbours of two vertices, divided by their distinct neighbours, for each pair that
    shares at least one. Directions of edges, self-loops and parallel edges do not count.

    Rows of the result: ``vertex_id_0``, ``vertex_id_1``, in the order of their ids,
    ``shared_neighbor_count``, ``distinct_neighbor_count``, ``score``.
    Gelly: ``library.similarity.JaccardIndex``.

    Costs a step for each pair of neighbours of each vertex, that is the sum of the squares of
    degrees; memory for the result, and some millions of pairs at a time.

    Args:
        minimum_score: numerator and denominator of the least score of the result.
        maximum_score: numerator and denominator of the score that scores of the result are below.

    Raises:
        JobDefinitionError: a score is not a fraction from 0 to 1.

    Example::

        >>> pairs = graph.run(JaccardIndex(minimum_score=(1, 2)))  # doctest: +SKIP
    """

    def __init__(
        self, *, minimum_score: Fraction | None = None, maximum_score: Fraction | None = None
    ) -> None:
        self.minimum_score = _checked(minimum_score, "minimum_score")
        self.maximum_score = _checked(maximum_score, "maximum_score")

    def columns(self, ids: Any, values: Any) -> Columns:
        counts = dict.fromkeys(("shared_neighbor_count", "distinct_neighbor_count"), "int64")
        return {"vertex_id_0": ids, "vertex_id_1": ids, **counts, "score": "double"}

    def program(self) -> SuperstepProgram:
        return _JaccardProgram(self)


class AdamicAdar(RowsAlgorithm):
    """The inverse logarithms of the degrees of shared neighbours, summed for each pair of vertices
    that shares at least one. Directions of edges, self-loops and parallel edges do not count.

    Rows of the result: ``vertex_id_0``, ``vertex_id_1``, in the order of their ids, ``score``.
    Gelly: ``library.similarity.AdamicAdar``, in single precision.

    Costs as `JaccardIndex`.

    Args:
        minimum_score: least score of the result.
        minimum_ratio: least score of the result as a multiple of the average of what a vertex adds
            to a pair of its neighbours.

    Raises:
        JobDefinitionError: a value is negative.
    """

    def __init__(self, *, minimum_score: float = 0.0, minimum_ratio: float = 0.0) -> None:
        for name, value in (("minimum_score", minimum_score), ("minimum_ratio", minimum_ratio)):
            if not value >= 0:
                raise JobDefinitionError(f"{name} is {value}: it must be 0 or greater")
        self.minimum_score = minimum_score
        self.minimum_ratio = minimum_ratio

    def columns(self, ids: Any, values: Any) -> Columns:
        return {"vertex_id_0": ids, "vertex_id_1": ids, "score": "double"}

    def program(self) -> SuperstepProgram:
        return _AdamicAdarProgram(self)


def _checked(score: Fraction | None, name: str) -> Fraction | None:
    if score is not None and not (score[1] > 0 and 0 <= score[0] <= score[1]):
        raise JobDefinitionError(
            f"{name} is {score}: it must be the numerator and the denominator of a fraction "
            "from 0 to 1"
        )
    return score


class _PairProgram(SuperstepProgram):
    """Sums a value over the shared neighbours of each pair of vertices. The task of the vertex
    with the lower number keeps the pair."""

    def _sums(self, view: AdjacencyView, addends: Array) -> tuple[Array, Array, Array]:
        """The sum of each pair.

        Args:
            addends: of each own vertex, for each pair of its neighbours.

        Returns:
            numbers of the first and the second vertex, and the sums, by pair.
        """
        partition = view.partition
        ranges = list(_ranges(partition.offsets))
        rounds = int(self.exchange.all_reduce(len(ranges), "max"))
        others = view.exchange.pull(numbers_of(partition))[partition.targets]
        keys, sums = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=addends.dtype)
        for number in range(rounds):
            begin, end = ranges[number] if number < len(ranges) else (0, 0)
            arrived = self._routed(partition, others, addends, begin, end)
            keys, sums = combined(
                np.concatenate([keys, arrived[0]]), np.concatenate([sums, arrived[1]]), "sum"
            )
        return keys >> _BITS, keys & (1 << _BITS) - 1, sums

    def _routed(
        self, partition: Any, others: Array, addends: Array, begin: int, end: int
    ) -> tuple[Array, Array]:
        """Pairs that the edges from ``begin`` to ``end`` make with the later ones of their
        sources, of all tasks."""
        sources = partition.sources[begin:end]
        counts = partition.offsets[sources + 1] - np.arange(begin, end) - 1
        one = np.repeat(others[begin:end], counts)
        other = others[ranges(np.arange(begin, end) + 1, counts)]
        keys = np.minimum(one, other) << _BITS | np.maximum(one, other)
        keys, sums = combined(keys, np.repeat(addends[sources], counts), "sum")
        tasks = (keys >> _BITS) % partition.parallelism
        arrived = self.exchange.route(tasks, keys, sums)
        return arrived[0], arrived[1]

    def _ordered_ids(self, first: Array, second: Array) -> tuple[Any, Any]:
        """Ids of pairs, the lesser one first."""
        one = self.partition.ids.take(pa.array(first // self.partition.parallelism))
        (other,) = fetch(second, [self.partition.ids], self.exchange)
        if not len(one):  # an empty graph's ids may be of a type that cannot be compared
            return one, other
        is_less = pc.less(one, other)
        return pc.if_else(is_less, one, other), pc.if_else(is_less, other, one)


class _JaccardProgram(_PairProgram):
    def __init__(self, algorithm: JaccardIndex) -> None:
        self._algorithm = algorithm

    def superstep(self, number: int) -> bool:
        view = distinct_neighbours(self.partition, self.exchange)
        degrees = view.partition.out_degrees
        first, second, shared = self._sums(view, np.ones(len(degrees), dtype=np.int64))
        (of_second,) = fetch(second, [degrees], self.exchange)
        distinct = degrees[first // self.partition.parallelism] + of_second - shared
        shown = np.ones(len(shared), dtype=bool)
        if self._algorithm.minimum_score is not None:
            numerator, denominator = self._algorithm.minimum_score
            shown &= shared * denominator >= distinct * numerator
        if self._algorithm.maximum_score is not None:
            numerator, denominator = self._algorithm.maximum_score
            shown &= shared * denominator < distinct * numerator
        ids = self._ordered_ids(first[shown], second[shown])
        self._columns = {
            "vertex_id_0": ids[0],
            "vertex_id_1": ids[1],
            "shared_neighbor_count": shared[shown],
            "distinct_neighbor_count": distinct[shown],
            "score": shared[shown] / distinct[shown],
        }
        return False

    def result(self) -> Mapping[str, Any]:
        return self._columns


class _AdamicAdarProgram(_PairProgram):
    def __init__(self, algorithm: AdamicAdar) -> None:
        self._algorithm = algorithm

    def superstep(self, number: int) -> bool:
        view = distinct_neighbours(self.partition, self.exchange)
        degrees = view.partition.out_degrees
        addends = np.zeros(len(degrees))
        np.divide(1.0, np.log(degrees, where=degrees > 1, out=np.ones(len(degrees))), out=addends)
        addends[degrees < 2] = 0.0
        least = self._algorithm.minimum_score
        if self._algorithm.minimum_ratio > 0:
            pairs = degrees * (degrees - 1) / 2
            totals = self.exchange.all_reduce(np.array([(addends * pairs).sum(), pairs.sum()]))
            if totals[1]:
                least = max(least, self._algorithm.minimum_ratio * totals[0] / totals[1])
        first, second, scores = self._sums(view, addends)
        shown = scores >= least
        ids = self._ordered_ids(first[shown], second[shown])
        self._columns = {"vertex_id_0": ids[0], "vertex_id_1": ids[1], "score": scores[shown]}
        return False

    def result(self) -> Mapping[str, Any]:
        return self._columns


def _ranges(offsets: Array) -> Iterator[tuple[int, int]]:
    """Ranges of edges that make about ``PAIRS`` pairs with the later edges of their sources."""
    degrees = np.diff(offsets)
    counts = np.repeat(offsets[1:], degrees) - np.arange(offsets[-1]) - 1
    ends = np.cumsum(counts)
    if not len(ends):
        return
    cuts = np.searchsorted(ends, np.arange(PAIRS, int(ends[-1]), PAIRS)) + 1
    bounds = np.unique(np.concatenate([[0], cuts, [len(ends)]])).tolist()
    yield from itertools.pairwise(bounds)
