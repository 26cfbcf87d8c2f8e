"""GatherFunction: updates the vertices of a scatter-gather iteration."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Generic, TypeVar

from millrace.common.errors import JobExecutionError
from millrace.graph.elements import Vertex
from millrace.graph.iterations.message_iterator import MessageIterator
from millrace.graph.spargel.degree_function import DegreeFunction

__all__ = ["GatherFunction"]

K = TypeVar("K")
VV = TypeVar("VV")
M = TypeVar("M")


class GatherFunction(DegreeFunction, ABC, Generic[K, VV, M]):
    """Function that is called in each superstep for each vertex with messages. The iteration ends
    if no vertex gets a value, or after the maximum number of supersteps. Gelly:
    ``GatherFunction`` of scatter-gather iterations."""

    _new_value: list[Any]

    @abstractmethod
    def update_vertex(self, vertex: Vertex[K, VV], in_messages: MessageIterator[M]) -> None:
        """Read messages, and set the vertex's value if it changes."""

    def set_new_vertex_value(self, new_value: VV) -> None:
        """Set the vertex's value, so that it sends messages in the next superstep. May be called
        once for a vertex in a superstep."""
        if self._new_value:
            raise JobExecutionError("set_new_vertex_value may be called once for a vertex")
        self._new_value.append(new_value)
