"""DegreeFunction: a function that learns the degrees of the vertex that it is called for."""

from __future__ import annotations

from millrace.graph.iterations.iteration_function import IterationFunction

__all__ = ["DegreeFunction"]


class DegreeFunction(IterationFunction):
    """Function that learns degrees if the configuration sets `set_opt_degrees`."""

    _in_degree = -1
    _out_degree = -1

    def get_in_degree(self) -> int:
        """Number of edges that end at the vertex; -1 if the iteration does not compute degrees."""
        return self._in_degree

    def get_out_degree(self) -> int:
        """Number of edges that begin at the vertex; -1 if the iteration does not compute
        degrees."""
        return self._out_degree
