"""`SuperstepAnalytic`: base of the library's algorithms whose result is a few numbers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, Generic, TypeVar

import numpy as np

from millrace.graph.data_set import DataSet
from millrace.graph.graph import Graph
from millrace.graph.library.superstep_algorithm import Columns, SuperstepAlgorithm

__all__ = ["SuperstepAnalytic"]

R = TypeVar("R")


class SuperstepAnalytic(SuperstepAlgorithm[R], Generic[R]):
    """An analytic: ``graph.run`` returns its result. Each task gives a row of whole numbers."""

    sums: tuple[str, ...] = ()
    """Columns whose numbers are added."""
    maxima: tuple[str, ...] = ()
    """Columns of which the greatest number counts."""

    def columns(self, ids: Any, values: Any) -> Columns:
        return dict.fromkeys((*self.sums, *self.maxima), "int64")

    def finished(self, graph: Graph[Any, Any, Any], rows: DataSet[Any]) -> R:
        """Combine the rows of all tasks to the result."""
        return self.outcome(rows.to_arrow())

    def outcome(self, table: Any) -> R:
        """Combine the rows of all tasks to the result.

        Args:
            table: `pyarrow.Table` with the columns.
        """
        numbers = {name: sum(table[name].to_pylist()) for name in self.sums}
        numbers |= {name: max(table[name].to_pylist(), default=0) for name in self.maxima}
        return self.result_of(numbers)

    @abstractmethod
    def result_of(self, numbers: dict[str, int]) -> R:
        """Result from the combined numbers, by column."""


def one_row(numbers: Mapping[str, Any]) -> dict[str, Any]:
    """The row of a task, from a number for each column."""
    return {name: np.array([number], dtype=np.int64) for name, number in numbers.items()}
