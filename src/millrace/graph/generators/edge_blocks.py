"""`GraphGenerator`: graphs that Spark's tasks generate, block by block, each with NumPy.

A block is a range of units, such as vertices or drawn edges. The blocks and their random numbers do
not depend on the number of tasks, so neither does the graph.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from millrace.common.errors import JobDefinitionError
from millrace.common.types.type_information import BasicTypeInfo
from millrace.graph.column_type import NULL, ColumnType
from millrace.graph.data_set import DataSet
from millrace.graph.elements import Edge, Vertex
from millrace.graph.graph import Graph

if TYPE_CHECKING:
    import pyarrow

__all__ = ["Ends", "GraphGenerator"]

Ends = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]
"""Sources and targets of edges."""
_UNITS_PER_BLOCK = 65_536
_EDGES_PER_BATCH = 262_144
_LONG = ColumnType(BasicTypeInfo("LONG"))


class GraphGenerator(ABC):
    """Generator of a graph whose ids are 0, 1, 2 and so on, without values.

    The tasks of Spark generate vertices and edges when they are needed. Flink docs: Gelly, "Graph
    Generators".
    """

    _parallelism: int | None = None

    def set_parallelism(self, parallelism: int) -> Self:
        """Set the number of tasks that generate the graph; by default one per core. The graph does
        not depend on it.

        Raises:
            JobDefinitionError: the number is not positive.
        """
        require_at_least("the parallelism", parallelism, 1)
        self._parallelism = parallelism
        return self

    @property
    @abstractmethod
    def vertex_count(self) -> int:
        """Number of vertices."""

    @property
    @abstractmethod
    def units(self) -> int:
        """Number of units. The edges of each unit are generated independently of other units."""

    @abstractmethod
    def edges_of(self, start: int, stop: int, block: int) -> Ends:
        """Edges of a range of units.

        Args:
            block: number of the range, from which random numbers are seeded.
        """

    def generate(self) -> Graph[int, None, None]:
        """The graph."""
        edges: DataSet[Any] = DataSet(self._edge_frame(), Edge, (_LONG, _LONG, NULL))
        return Graph(self._vertices(edges), edges)

    def edge_table(self) -> pyarrow.Table:
        """The edges as an Arrow table, generated in this process instead of by Spark."""
        import pyarrow as pa

        return pa.Table.from_batches(self._batches(range(self._blocks)), _edge_schema())

    def _vertices(self, edges: DataSet[Any]) -> DataSet[Any]:
        from millrace.spark.graphs.generated import numbers
        from millrace.spark.graphs.relations import with_nulls

        frame = with_nulls(numbers(self.vertex_count, self._parallelism))
        return DataSet(frame, Vertex, (_LONG, NULL))

    def _edge_frame(self) -> Any:
        from millrace.spark.graphs.generated import generated

        return generated(self._blocks, self._parallelism, self._batches, _edge_schema())

    @property
    def _blocks(self) -> int:
        return -(-self.units // _UNITS_PER_BLOCK)

    def _batches(self, blocks: Any) -> Iterator[pyarrow.RecordBatch]:
        """Batches of the edges of some blocks."""
        import pyarrow as pa

        for block in blocks:
            start = block * _UNITS_PER_BLOCK
            stop = min(start + _UNITS_PER_BLOCK, self.units)
            for sources, targets in self._portions(start, stop, block):
                for first in range(0, len(sources), _EDGES_PER_BATCH):
                    part = slice(first, first + _EDGES_PER_BATCH)
                    ends = [pa.array(sources[part]), pa.array(targets[part])]
                    yield pa.RecordBatch.from_arrays(
                        [*ends, pa.nulls(len(ends[0]))], schema=_edge_schema()
                    )

    def _portions(self, start: int, stop: int, block: int) -> Iterator[Ends]:
        """Edges of a block; a generator with many edges per unit makes them in several steps."""
        yield self.edges_of(start, stop, block)


def _edge_schema() -> pyarrow.Schema:
    import pyarrow as pa

    return pa.schema([("source", pa.int64()), ("target", pa.int64()), ("value", pa.null())])


def require_at_least(what: str, number: int, least: int) -> None:
    """Raise JobDefinitionError if a parameter is too small."""
    if isinstance(number, bool) or not isinstance(number, int | np.integer) or number < least:
        raise JobDefinitionError(f"{what} has to be an integer of at least {least}, got {number!r}")
