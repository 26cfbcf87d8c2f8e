"""ScatterFunction: sends the messages of a scatter-gather iteration."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Generic, TypeVar

from millrace.graph.elements import Edge, EdgeDirection, Vertex
from millrace.graph.pregel.compute_function import EdgeUse
from millrace.graph.spargel.degree_function import DegreeFunction

__all__ = ["ScatterFunction"]

K = TypeVar("K")
VV = TypeVar("VV")
M = TypeVar("M")
EV = TypeVar("EV")


class ScatterFunction(DegreeFunction, ABC, Generic[K, VV, M, EV]):
    """Function that is called in each superstep for each vertex whose value was set in the previous
    superstep; in the first superstep, for all vertices. Gelly: ``ScatterFunction``.
    """

    _use: EdgeUse
    _direction = EdgeDirection.OUT

    @abstractmethod
    def send_messages(self, vertex: Vertex[K, VV]) -> None:
        """Send messages, which arrive in the same superstep."""

    def get_direction(self) -> EdgeDirection:
        """The direction of edges along which messages go."""
        return self._direction

    def get_edges(self) -> list[Edge[K, EV]]:
        """The edges of the vertex in the direction of messages. A call for a vertex may use this
        method or `send_message_to_all_neighbors`, not both.
        """
        return self._use.edges()

    def send_message_to_all_neighbors(self, message: M) -> None:
        """Send a message along all edges in the direction of messages. A call for a vertex may use
        this method or `get_edges`, not both.
        """
        self._use.send_to_all(message)

    def send_message_to(self, target: K, message: M) -> None:
        """Send a message to a vertex. If it does not exist, the iteration fails."""
        self._use.send_to(target, message)
