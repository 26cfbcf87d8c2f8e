"""SumFunction: combines two gathered values into one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Generic, TypeVar

from millrace.graph.iterations.iteration_function import IterationFunction

__all__ = ["SumFunction"]

VV = TypeVar("VV")
EV = TypeVar("EV")
M = TypeVar("M")


class SumFunction(IterationFunction, ABC, Generic[VV, EV, M]):
    """Associative and commutative function of two gathered values for the same vertex. Gelly:
    ``SumFunction``."""

    @abstractmethod
    def sum(self, arg0: M, arg1: M) -> M:
        """One value in place of two gathered values."""
