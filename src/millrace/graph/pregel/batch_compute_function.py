"""BatchComputeFunction: a vertex-centric iteration whose function gets all vertices of a task."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from millrace.graph.iterations.batch_iteration_function import BatchSendingFunction

if TYPE_CHECKING:
    from millrace.graph.iterations.vertex_batch import CombinedMessages, VertexBatch

__all__ = ["BatchComputeFunction"]


class BatchComputeFunction(BatchSendingFunction, ABC):
    """Vectorised form of `ComputeFunction`: it is called once per superstep in each task, with the
    vertices' values and the combined messages as NumPy arrays. Values of vertices and edges must be
    numbers. The iteration ends if no messages are sent.

    Example::

        class ShortestPaths(BatchComputeFunction):
            combine = "min"

            def compute(self, vertices, messages):
                distances = np.where(messages.received, messages.values, np.inf)
                if self.get_superstep_number() == 1:
                    distances = np.where(np.asarray(vertices.ids) == 1, 0.0, np.inf)
                shorter = distances < vertices.values
                vertices.set_new_values(distances, shorter)
                lengths = vertices.values[self.edges.sources] + self.edges.values
                self.send_along_edges(lengths, shorter[self.edges.sources])
    """

    @abstractmethod
    def compute(self, vertices: VertexBatch, messages: CombinedMessages) -> None:
        """Read the messages, set values of vertices, and send messages for the next superstep.

        Args:
            vertices: all vertices of the task. Those without messages are among them:
                ``messages.received`` tells which have some. In the first superstep none has.
        """
