"""ComputeFunction: the function of a vertex-centric iteration."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from millrace.common.errors import JobExecutionError
from millrace.graph.elements import Edge, Vertex
from millrace.graph.iterations.iteration_function import IterationFunction
from millrace.graph.iterations.message_iterator import MessageIterator

__all__ = ["ComputeFunction", "EdgeUse"]

K = TypeVar("K")
VV = TypeVar("VV")
EV = TypeVar("EV")
M = TypeVar("M")


class EdgeUse:
    """Tracks the use of a vertex's edges while a function is called for the vertex: the function
    may either read the edges or send along them."""

    def __init__(self, program: Any) -> None:
        self._edges: Callable[[int], list[Edge[Any, Any]]] = program.edges_of
        self._outbox = program.outbox
        self.vertex = 0
        self.used = False

    def _use(self) -> None:
        if self.used:
            raise JobExecutionError(
                "get_edges and send_message_to_all_neighbors exclude each other, and may be called "
                "once for a vertex"
            )
        self.used = True

    def edges(self) -> list[Edge[Any, Any]]:
        """The edges of the vertex."""
        self._use()
        return self._edges(self.vertex)

    def send_to_all(self, message: Any) -> None:
        """Send a message along all edges of the vertex."""
        self._use()
        self._outbox.senders.append(self.vertex)
        self._outbox.to_neighbors.append(message)

    def send_to(self, target: Any, message: Any) -> None:
        """Send a message to any vertex."""
        self._outbox.targets.append(target)
        self._outbox.to_targets.append(message)


class ComputeFunction(IterationFunction, ABC, Generic[K, VV, EV, M]):
    """Function that is called in each superstep for each active vertex. In the first superstep all
    vertices are active, then those that have received messages. The iteration ends if no messages
    are sent, or after the maximum number of supersteps. Gelly: ``ComputeFunction``.

    Example::

        class ShortestPaths(ComputeFunction[int, float, float, float]):
            def compute(self, vertex, messages):
                distance = 0.0 if vertex.id == 1 else min(messages, default=math.inf)
                if distance < vertex.value:
                    self.set_new_vertex_value(distance)
                    for edge in self.get_edges():
                        self.send_message_to(edge.target, distance + edge.value)
    """

    _use: EdgeUse
    _new_value: list[Any]

    @abstractmethod
    def compute(self, vertex: Vertex[K, VV], messages: MessageIterator[M]) -> None:
        """Read messages, set the vertex's value, and send messages for the next superstep."""

    def get_edges(self) -> list[Edge[K, EV]]:
        """The out-edges of the vertex. A call for a vertex may use this method or
        `send_message_to_all_neighbors`, not both.
        """
        return self._use.edges()

    def send_message_to_all_neighbors(self, message: M) -> None:
        """Send a message to the targets of all out-edges. A call for a vertex may use this method
        or `get_edges`, not both.
        """
        self._use.send_to_all(message)

    def send_message_to(self, target: K, message: M) -> None:
        """Send a message to a vertex. If it does not exist, the iteration fails."""
        self._use.send_to(target, message)

    def set_new_vertex_value(self, new_value: VV) -> None:
        """Set the vertex's value. May be called once for a vertex in a superstep."""
        if self._new_value:
            raise JobExecutionError("set_new_vertex_value may be called once for a vertex")
        self._new_value.append(new_value)
