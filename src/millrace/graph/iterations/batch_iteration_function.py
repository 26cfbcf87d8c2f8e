"""Functions of iterations that compute on all vertices of a task together, with NumPy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from millrace.graph.iterations.iteration_function import IterationFunction

if TYPE_CHECKING:
    from millrace.graph.iterations.vertex_batch import BatchMessages, EdgeBatch

__all__ = ["BatchSendingFunction", "Combination"]

Combination = Literal["sum", "min", "max"]
"""Function that makes one message of all for a vertex, on the sending and the receiving side."""


class BatchSendingFunction(IterationFunction):
    """Function that sends messages for whole batches of vertices."""

    combine: Combination = "sum"
    """Function that makes one message of all for a vertex."""
    edges: EdgeBatch
    """The edges in the direction of messages."""
    _messages: BatchMessages

    def send_to_all_neighbors(self, values: Any, senders: Any = None) -> None:
        """Send a message from each vertex along all its edges.

        Args:
            values: NumPy array with a message of each vertex.
            senders: whether each vertex sends its message; None for all.
        """
        self._messages.to_neighbors(values, senders)

    def send_along_edges(self, values: Any, chosen: Any = None) -> None:
        """Send a message along each edge.

        Args:
            values: NumPy array with a message for each edge (see `edges`).
            chosen: whether there is a message for each edge; None for all.
        """
        self._messages.along_edges(values, chosen)
