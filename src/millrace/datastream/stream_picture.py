"""`StreamPicture`: the display of a stream or an environment."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from millrace.job_graph.graph_picture import graph_lines, graph_svg
from millrace.job_graph.transformation import Transformation

__all__ = ["StreamPicture"]


class StreamPicture(ABC):
    """Display of the graph of operators that has been built so far, without running anything."""

    @abstractmethod
    def _graph_ends(self) -> Sequence[Transformation]:
        """The operators at the end of the graph."""

    def explain(self) -> str:
        """The operators so far, one per line, with their inputs and partitioning.

        Example:
            >>> from millrace.datastream import StreamExecutionEnvironment
            >>> env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
            >>> words = env.from_collection(["to be"]).flat_map(str.split)
            >>> print(words.key_by(len).reduce(min).explain())
            1: Collection [parallelism 1]
            2: Flat Map <- 1 [parallelism 2]
            3: Reduce <- 2 keyed [parallelism 2]
        """
        return graph_lines(self._graph_ends())

    def _repr_svg_(self) -> str | None:
        """The graph as a picture, for notebooks."""
        ends = self._graph_ends()
        return graph_svg(ends) if ends else None
