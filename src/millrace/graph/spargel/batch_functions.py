"""BatchScatterFunction and BatchGatherFunction: a scatter-gather iteration on whole batches."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from millrace.graph.iterations.batch_iteration_function import BatchSendingFunction
from millrace.graph.iterations.iteration_function import IterationFunction

if TYPE_CHECKING:
    from millrace.graph.iterations.vertex_batch import CombinedMessages, VertexBatch

__all__ = ["BatchGatherFunction", "BatchScatterFunction"]


class BatchScatterFunction(BatchSendingFunction, ABC):
    """Vectorised form of `ScatterFunction`."""

    @abstractmethod
    def send_messages(self, vertices: VertexBatch, changed: Any) -> None:
        """Send messages of changed vertices.

        Args:
            vertices: all vertices of the task.
            changed: NumPy array that tells whether the value of each vertex was set in the
                superstep before; in the first superstep, all are True.
        """


class BatchGatherFunction(IterationFunction, ABC):
    """Vectorised form of `GatherFunction`. The iteration ends if no vertex gets a value."""

    @abstractmethod
    def update_vertices(self, vertices: VertexBatch, messages: CombinedMessages) -> None:
        """Set the values of vertices that change (`VertexBatch.set_new_values`)."""
