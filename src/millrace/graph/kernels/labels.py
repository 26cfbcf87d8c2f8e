"""Labels as numbers in the order of the labels, so that comparing the numbers means comparing
the labels."""

from __future__ import annotations

import itertools
from bisect import bisect_left
from math import isnan
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from millrace.common.errors import JobDefinitionError
from millrace.graph.kernels.adjacency import fetch
from millrace.graph.kernels.segments import Array
from millrace.runtime.supersteps.graph_exchange import GraphExchange
from millrace.runtime.supersteps.graph_partition import GraphPartition

_SAMPLES = 64
"""Values that each task offers as bounds of the ranges of labels."""


class OrderedLabels:
    """A dictionary of the labels of all tasks. Each task keeps a range of the labels.

    Args:
        column: Arrow array with a label for each own vertex.
        what: the labels in messages, for example "values of vertices".

    Raises:
        JobDefinitionError: a label is missing, or labels of this type have no order.
    """

    def __init__(self, column: Any, exchange: GraphExchange, what: str) -> None:
        if column.null_count:
            raise JobDefinitionError(
                f"{what} are compared, but one of them is None: replace it first"
            )
        try:
            distinct = _ordered(column)
        except (pa.ArrowNotImplementedError, pa.ArrowTypeError):
            raise JobDefinitionError(
                f"{what} are compared, but values of type {column.type} have no order: map "
                "them to numbers or texts first"
            ) from None
        received = exchange.swap_parts("labels", _ranges(distinct, exchange))
        self._values = _ordered(pa.concat_arrays([part for (part,) in received]))
        sizes = exchange.all_gather(len(self._values))
        self._bases = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        replies = exchange.swap_parts(
            "ranks", [[_positions(part, self._values)] for (part,) in received]
        )
        ranks = np.concatenate([part + self._bases[task] for task, (part,) in enumerate(replies)])
        self._exchange = exchange
        self.ranks = ranks[_positions(column, distinct)]
        """Place of each own vertex's label in the order of all distinct labels."""

    def decoded(self, ranks: Array) -> Any:
        """Arrow array of the labels with the given ranks. All tasks call this at the same time."""
        parallelism = self._exchange.parallelism
        tasks = np.searchsorted(self._bases, ranks, side="right") - 1
        numbers = (ranks - self._bases[tasks]) * parallelism + tasks
        return fetch(numbers, [self._values], self._exchange)[0]


def vertex_labels(partition: GraphPartition, exchange: GraphExchange) -> OrderedLabels:
    """The values of vertices as labels; their ids if they have no values. NaN is the greatest."""
    values = partition.vertex_values
    if values is None or pa.types.is_null(values.type):
        return OrderedLabels(partition.ids, exchange, "ids of vertices")
    return OrderedLabels(values, exchange, "values of vertices")


def _ordered(column: Any) -> Any:
    distinct = pc.unique(column)
    return distinct.take(pc.sort_indices(distinct))


def _ranges(distinct: Any, exchange: GraphExchange) -> list[list[Any]]:
    """Cut labels into a range for each task, at bounds on which all tasks agree."""
    sample = distinct.take(pa.array(_spread(len(distinct), _SAMPLES), pa.int64()))
    samples = exchange.swap_columns("samples", [[sample]] * exchange.parallelism)[0]
    samples = samples.take(pc.sort_indices(samples))
    inner = _spread(len(samples), exchange.parallelism + 1)[1:-1]
    cuts = [0, *(_first_from(distinct, samples[place].as_py()) for place in inner)]
    cuts += [len(distinct)] * (exchange.parallelism + 1 - len(cuts))
    return [[distinct[low:high]] for low, high in itertools.pairwise(cuts)]


def _positions(column: Any, values: Any) -> npt.NDArray[np.int64]:
    """Place of each entry in a column of distinct values."""
    return np.asarray(pc.index_in(column, value_set=values), dtype=np.int64)


def _spread(length: int, count: int) -> list[int]:
    """At most ``count`` places of a column at equal distances, with the first and the last."""
    if not length:
        return []
    places: list[int] = np.unique(np.linspace(0, length - 1, count).astype(np.int64)).tolist()
    return places


def _first_from(ordered: Any, bound: Any) -> int:
    """First place in an ordered column whose entry is not below the bound. NaN is the last entry,
    though no comparison says so."""
    if isinstance(bound, float) and isnan(bound):
        return len(ordered) - (pc.sum(pc.is_nan(ordered)).as_py() or 0)
    return bisect_left(range(len(ordered)), bound, key=lambda place: ordered[place].as_py())
