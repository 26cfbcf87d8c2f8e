"""Aggregators: values that all vertices contribute to in a superstep, and read in the next one.

Flink docs: Gelly, "Configuring a Vertex-Centric Iteration"; Flink's ``Aggregator``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Generic, TypeVar

__all__ = [
    "Aggregator",
    "DoubleMaxAggregator",
    "DoubleMinAggregator",
    "DoubleSumAggregator",
    "LongMaxAggregator",
    "LongMinAggregator",
    "LongSumAggregator",
]

T = TypeVar("T")


class Aggregator(ABC, Generic[T]):
    """A value that all tasks build together. ``aggregate`` must be associative and commutative: it
    is called with values of vertices, and then with the aggregates of tasks."""

    @abstractmethod
    def get_aggregate(self) -> T:
        """The aggregate so far."""

    @abstractmethod
    def aggregate(self, value: T) -> None:
        """Add a value."""

    @abstractmethod
    def reset(self) -> None:
        """Reset the aggregate to its state before the first value."""


class _Reducing(Aggregator[Any]):
    _initial: Any
    _reduce: Callable[[Any, Any], Any]

    def __init__(self) -> None:
        self._value = self._initial

    def get_aggregate(self) -> Any:
        """The aggregate so far."""
        return self._value

    def aggregate(self, value: Any) -> None:
        """Add a value."""
        self._value = type(self)._reduce(self._value, value)

    def reset(self) -> None:
        """Begin anew."""
        self._value = self._initial


def _sum(left: Any, right: Any) -> Any:
    return left + right


class LongSumAggregator(_Reducing):
    """Sum of integers.

    Example:
        >>> total = LongSumAggregator()
        >>> total.aggregate(2); total.aggregate(3); total.get_aggregate()
        5
    """

    _initial = 0
    _reduce = staticmethod(_sum)


class DoubleSumAggregator(_Reducing):
    """Sum of floats."""

    _initial = 0.0
    _reduce = staticmethod(_sum)


class LongMinAggregator(_Reducing):
    """Minimum of integers; the largest long if there are none."""

    _initial = 2**63 - 1
    _reduce = staticmethod(min)


class LongMaxAggregator(_Reducing):
    """Maximum of integers; the smallest long if there are none."""

    _initial = -(2**63)
    _reduce = staticmethod(max)


class DoubleMinAggregator(_Reducing):
    """Minimum of floats; infinity if there are none."""

    _initial = float("inf")
    _reduce = staticmethod(min)


class DoubleMaxAggregator(_Reducing):
    """Maximum of floats; minus infinity if there are none."""

    _initial = float("-inf")
    _reduce = staticmethod(max)
