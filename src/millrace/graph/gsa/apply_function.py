"""ApplyFunction: makes a vertex's new value from the value gathered for it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Generic, TypeVar

from millrace.graph.iterations.iteration_function import IterationFunction

__all__ = ["ApplyFunction"]

K = TypeVar("K")
VV = TypeVar("VV")
M = TypeVar("M")


class ApplyFunction(IterationFunction, ABC, Generic[K, VV, M]):
    """Function that is called in each superstep for each vertex that has gathered a value. The
    iteration ends if no vertex gets a new value, or after the maximum number of supersteps.
    Gelly: ``ApplyFunction``."""

    _new_value: list[Any]

    @abstractmethod
    def apply(self, new_value: M, current_value: VV) -> None:
        """Compare the summed value with the vertex's value, and set another one by `set_result`."""

    def set_result(self, result: VV) -> None:
        """Set the vertex's value, so that its neighbours gather it in the next superstep."""
        self._new_value[:] = [result]
