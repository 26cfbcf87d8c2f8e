"""`NeighborhoodFunction`: how many vertices are near each other, by sketches (HyperANF)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import nan
from typing import Any

import numpy as np
import numpy.typing as npt

from millrace.common.errors import JobDefinitionError
from millrace.graph.data_set import DataSet
from millrace.graph.graph import Graph
from millrace.graph.kernels.adjacency import distinct_neighbours
from millrace.graph.kernels.labels import OrderedLabels
from millrace.graph.kernels.segments import Array
from millrace.graph.library.superstep_algorithm import (
    Columns,
    SuperstepAlgorithm,
    at_least_one,
)
from millrace.runtime.supersteps.graph_exchange import GraphExchange
from millrace.runtime.supersteps.graph_partition import GraphPartition
from millrace.runtime.supersteps.superstep_program import SuperstepProgram

__all__ = ["NeighborhoodFunction", "NeighborhoodFunctionResult"]

_SHARE = 0.9
"""Share of the pairs that are within the effective diameter."""
_BYTES_AT_ONCE = 1 << 26
"""Bytes of registers that a pass over the edges reads."""


@dataclass(frozen=True)
class NeighborhoodFunctionResult:
    """Result of `NeighborhoodFunction`. All numbers are estimates.

    Attributes:
        pairs: for each distance from 0 on, the number of ordered pairs of vertices, one with itself
            among them, of which the second is that far from the first or nearer.
    """

    pairs: tuple[float, ...]

    @property
    def diameter(self) -> int:
        """Greatest distance at which the number of pairs grows: a lower bound of the diameter of
        the graph's components."""
        return len(self.pairs) - 1 if self.pairs else 0

    @property
    def effective_diameter(self) -> float:
        """Distance within which 90 % of the connected pairs are, interpolated between whole
        distances; NaN without vertices."""
        if not self.pairs:
            return nan
        wanted = _SHARE * self.pairs[-1]
        far = next(number for number, pairs in enumerate(self.pairs) if pairs >= wanted)
        if far == 0:
            return 0.0
        near = self.pairs[far - 1]
        return far - 1 + (wanted - near) / (self.pairs[far] - near)

    @property
    def average_distance(self) -> float:
        """Average distance of the connected pairs of different vertices; NaN if there are none."""
        steps = np.diff(np.array(self.pairs))
        total = float(steps.sum())
        return float((steps * np.arange(1, len(steps) + 1)).sum() / total) if total > 0 else nan


class NeighborhoodFunction(SuperstepAlgorithm[NeighborhoodFunctionResult]):
    """The neighbourhood function of a graph: the number of pairs of vertices within each distance,
    and what follows from it, the effective diameter and the average distance. It is estimated by
    HyperANF (Boldi, Rosa and Vigna, 2011): each vertex has a HyperLogLog sketch of the vertices
    that it reaches, and takes the union with its neighbours' sketches in each superstep, until no
    sketch changes. Gelly has none.

    ``graph.run`` returns a `NeighborhoodFunctionResult`. Costs a pass over the edges and over
    ``2 ** bits`` bytes per edge for each step up to the diameter. The relative error of a number of
    pairs is about ``1.04 / 2 ** (bits / 2)`` per vertex, and less in the sum.

    Args:
        bits: logarithm of the number of a sketch's bytes, from 4 to 12.
        directed: whether paths follow the direction of edges.
        max_iterations: greatest distance; None for any.

    Example::

        >>> graph.run(NeighborhoodFunction()).effective_diameter  # doctest: +SKIP
    """

    def __init__(
        self, bits: int = 6, *, directed: bool = False, max_iterations: int | None = None
    ) -> None:
        if not 4 <= bits <= 12:
            raise JobDefinitionError(f"bits is {bits}: it must be from 4 to 12")
        self.bits = bits
        self.directed = directed
        self.max_iterations = at_least_one(max_iterations, "max_iterations")

    def columns(self, ids: Any, values: Any) -> Columns:
        return {"distance": "int64", "pairs": "double"}

    def program(self) -> SuperstepProgram:
        return _SketchesProgram(self.bits, self.directed, self.max_iterations)

    def finished(
        self, graph: Graph[Any, Any, Any], rows: DataSet[Any]
    ) -> NeighborhoodFunctionResult:
        return self.outcome(rows.to_arrow())

    def outcome(self, table: Any) -> NeighborhoodFunctionResult:
        """Combine the rows of all tasks to the result.

        Args:
            table: `pyarrow.Table` with the columns.
        """
        order = np.argsort(table["distance"].to_numpy(), kind="stable")
        return NeighborhoodFunctionResult(tuple(table["pairs"].to_numpy()[order].tolist()))


class _SketchesProgram(SuperstepProgram):
    state = ("registers", "is_changed", "pairs")

    registers: npt.NDArray[np.uint8]
    """Sketch of each own vertex: a row of registers."""
    is_changed: npt.NDArray[np.bool_]
    """Whether each own vertex' sketch has changed in the last superstep."""

    def __init__(self, bits: int, directed: bool, max_iterations: int | None) -> None:
        self._bits = bits
        self._directed = directed
        self._max_iterations = max_iterations

    def start(self, partition: GraphPartition, exchange: GraphExchange) -> None:
        super().start(partition, exchange)
        self._near, self._near_exchange = partition, exchange
        if not self._directed:
            view = distinct_neighbours(partition, exchange)
            self._near, self._near_exchange = view.partition, view.exchange
        ranks = OrderedLabels(partition.ids, exchange, "ids of vertices").ranks
        self.registers = sketches(ranks, self._bits)
        self.is_changed = np.ones(partition.vertex_count, np.bool_)
        self._slots = np.zeros((self._near.slot_count, 1 << self._bits), np.uint8)
        self.pairs = [self._all_pairs()]

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        super().restore(snapshot)
        self.is_changed = np.ones(self.partition.vertex_count, np.bool_)

    def superstep(self, number: int) -> bool:
        near, slots = self._near, self._slots
        slots[: near.vertex_count] = self.registers
        self._near_exchange.pull_changed(slots, self.is_changed)
        registers = self._unions(slots)
        self.is_changed = (registers != self.registers).any(axis=1)
        self.registers = registers
        if not self.exchange.all_reduce(int(self.is_changed.any()), "max"):
            return False
        self.pairs.append(self._all_pairs())
        return number != self._max_iterations

    def result(self) -> Mapping[str, Any]:
        shown = self.pairs if self.partition.index == 0 and self.partition.total_vertices else []
        return {"distance": np.arange(len(shown)), "pairs": np.array(shown, np.float64)}

    def _unions(self, slots: Array) -> npt.NDArray[np.uint8]:
        """Union of each own vertex' sketch with those of its neighbours, computed for some
        registers at a time."""
        near, unions = self._near, self.registers.copy()
        width = max(1, _BYTES_AT_ONCE // max(near.edge_count, 1))
        for low in range(0, unions.shape[1], width):
            of_edges = slots[:, low : low + width][near.targets]
            reached = near.combine_at_sources(of_edges, "max", 0)
            np.maximum(unions[:, low : low + width], reached, out=unions[:, low : low + width])
        return unions

    def _all_pairs(self) -> float:
        """Estimated number of pairs: the sum of the sketches' sizes."""
        return float(self.exchange.all_reduce(estimates(self.registers).sum(), "sum"))


def sketches(numbers: Array, bits: int) -> npt.NDArray[np.uint8]:
    """HyperLogLog sketches of sets of one number each: rows of ``2 ** bits`` registers."""
    hashed = _mixed(numbers.astype(np.uint64))
    registers = np.zeros((len(numbers), 1 << bits), np.uint8)
    rest = hashed >> np.uint64(bits)
    # the place of the lowest 1 is as probable as that of the highest
    lowest = rest & (~rest + np.uint64(1))
    places = np.log2(np.maximum(lowest, 1).astype(np.float64)).astype(np.uint8) + 1
    register = (hashed & np.uint64((1 << bits) - 1)).astype(np.int64)
    registers[np.arange(len(numbers)), register] = places
    return registers


def estimates(registers: npt.NDArray[np.uint8]) -> npt.NDArray[np.float64]:
    """Estimated size of the set of each sketch, by linear counting while registers are empty and
    the set is small, otherwise by the harmonic mean of HyperLogLog."""
    step = max(1, _BYTES_AT_ONCE // (8 * registers.shape[1]))  # a float64 of each register
    starts = range(0, len(registers), step)
    return np.concatenate([np.zeros(0), *(_sizes(registers[n : n + step]) for n in starts)])


def _sizes(registers: npt.NDArray[np.uint8]) -> npt.NDArray[np.float64]:
    count = registers.shape[1]
    alpha = {16: 0.673, 32: 0.697, 64: 0.709}.get(count, 0.7213 / (1 + 1.079 / count))
    powers = np.ldexp(1.0, -np.arange(65))
    raw = alpha * count**2 / np.maximum(powers[registers].sum(axis=1), 1e-300)
    empty = (registers == 0).sum(axis=1)
    counted = count * np.log(count / np.maximum(empty, 1))
    sizes: npt.NDArray[np.float64] = np.where((raw <= 2.5 * count) & (empty > 0), counted, raw)
    return sizes


def _mixed(numbers: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Hash of numbers (the finalizer of SplitMix64)."""
    mixed = (numbers + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
