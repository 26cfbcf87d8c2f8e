"""GatherFunction: makes a value of a neighbour and the edge to it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Generic, NamedTuple, TypeVar

from millrace.graph.iterations.iteration_function import IterationFunction

__all__ = ["GatherFunction", "Neighbor"]

VV = TypeVar("VV")
EV = TypeVar("EV")
M = TypeVar("M")


class Neighbor(NamedTuple, Generic[VV, EV]):
    """A neighbour of a vertex: its value, and the value of the edge between them."""

    neighbor_value: VV
    edge_value: EV

    def get_neighbor_value(self) -> VV:
        """Value of the neighbour."""
        return self.neighbor_value

    def get_edge_value(self) -> EV:
        """Value of the edge."""
        return self.edge_value


class GatherFunction(IterationFunction, ABC, Generic[VV, EV, M]):
    """Function that is called in each superstep for each edge of a neighbour whose value was set in
    the previous superstep; in the first superstep, for all edges. Gelly: ``GatherFunction`` of
    gather-sum-apply iterations.
    """

    @abstractmethod
    def gather(self, neighbor: Neighbor[VV, EV]) -> M:
        """Make a value for the vertex from a neighbour and the edge to it."""
