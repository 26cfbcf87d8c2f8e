"""BatchGatherFunction and BatchApplyFunction: a gather-sum-apply iteration on whole batches.
Instead of a sum function, it has the name of a sum ("sum", "min" or "max")."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from millrace.graph.iterations.iteration_function import IterationFunction

if TYPE_CHECKING:
    from millrace.graph.iterations.vertex_batch import CombinedMessages, VertexBatch

__all__ = ["BatchApplyFunction", "BatchGatherFunction"]


class BatchGatherFunction(IterationFunction, ABC):
    """Vectorised form of `GatherFunction`."""

    @abstractmethod
    def gather(self, neighbor_values: Any, edge_values: Any) -> Any:
        """A value for each edge, as a NumPy array.

        Args:
            neighbor_values: value of the neighbour at each edge.
            edge_values: value of each edge; None if edges have none.
        """


class BatchApplyFunction(IterationFunction, ABC):
    """Vectorised form of `ApplyFunction`. The iteration ends if no vertex gets a value."""

    @abstractmethod
    def apply(self, vertices: VertexBatch, sums: CombinedMessages) -> None:
        """Set the values of vertices that change (`VertexBatch.set_new_values`).

        Args:
            sums: what was gathered for each vertex.
        """
