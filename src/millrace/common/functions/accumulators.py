"""Accumulators: values that all subtasks add to, with results at the job's end (Flink docs,
"User-Defined Functions", Accumulators & Counters).

Only what accepted epochs added counts: an epoch that had to run again adds once. What a function
adds in ``open`` counts for each instance, and there is one more whenever a subtask moves. Additions
from other threads, such as those of asynchronous requests, may be lost.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter as Tally
from copy import deepcopy
from typing import Any, Generic, TypeVar

from millrace.common.errors import JobExecutionError

__all__ = [
    "Accumulator",
    "AverageAccumulator",
    "DoubleCounter",
    "Histogram",
    "IntCounter",
    "ListAccumulator",
    "LongCounter",
    "MaximumAccumulator",
    "MinimumAccumulator",
]

V = TypeVar("V")
R = TypeVar("R")
Accumulators = dict[str, "Accumulator[Any, Any]"]
"""Accumulators by name."""


class Accumulator(ABC, Generic[V, R]):
    """Collects values of type ``V`` into a result of type ``R``. Must be picklable."""

    @abstractmethod
    def add(self, value: V) -> None:
        """Add a value."""

    @abstractmethod
    def get_local_value(self) -> R:
        """Result of the values added in this subtask."""

    @abstractmethod
    def reset_local(self) -> None:
        """Drop the values added in this subtask."""

    @abstractmethod
    def merge(self, other: Any) -> None:
        """Add the content of another accumulator of the same class."""

    def clone(self) -> Accumulator[V, R]:
        """A copy."""
        return deepcopy(self)


class _Sum(Accumulator[Any, Any]):
    zero: Any = 0

    def __init__(self) -> None:
        self._total = self.zero

    def add(self, value: Any) -> None:
        self._total += value

    def get_local_value(self) -> Any:
        return self._total

    def reset_local(self) -> None:
        self._total = self.zero

    def merge(self, other: _Sum) -> None:
        self._total += other._total


class IntCounter(_Sum):
    """Sum of whole numbers.

    Example:
        >>> counter = IntCounter()
        >>> counter.add(2)
        >>> counter.add(3)
        >>> counter.get_local_value()
        5
    """


class LongCounter(_Sum):
    """Sum of whole numbers, the same as `IntCounter`, because Python has only one type of them."""


class DoubleCounter(_Sum):
    """Sum of floating point numbers."""

    zero = 0.0


class AverageAccumulator(Accumulator[float, float]):
    """Mean of all values; 0.0 if there are none."""

    def __init__(self) -> None:
        self.reset_local()

    def add(self, value: float) -> None:
        self._count += 1
        self._sum += value

    def get_local_value(self) -> float:
        return self._sum / self._count if self._count else 0.0

    def reset_local(self) -> None:
        self._count, self._sum = 0, 0.0

    def merge(self, other: AverageAccumulator) -> None:
        self._count += other._count
        self._sum += other._sum


class _Extreme(Accumulator[Any, Any]):
    def __init__(self) -> None:
        self._value: Any = None

    def _better(self, value: Any) -> bool:
        raise NotImplementedError

    def add(self, value: Any) -> None:
        if self._value is None or self._better(value):
            self._value = value

    def get_local_value(self) -> Any:
        return self._value

    def reset_local(self) -> None:
        self._value = None

    def merge(self, other: _Extreme) -> None:
        if other._value is not None:
            self.add(other._value)


class MinimumAccumulator(_Extreme):
    """Minimum of all values; None if there are none."""

    def _better(self, value: Any) -> bool:
        return bool(value < self._value)


class MaximumAccumulator(_Extreme):
    """Maximum of all values; None if there are none."""

    def _better(self, value: Any) -> bool:
        return bool(value > self._value)


class ListAccumulator(Accumulator[Any, list[Any]]):
    """List of all values, kept by the driver; values of different subtasks are in no particular
    order."""

    def __init__(self) -> None:
        self._values: list[Any] = []

    def add(self, value: Any) -> None:
        self._values.append(value)

    def get_local_value(self) -> list[Any]:
        return list(self._values)

    def reset_local(self) -> None:
        self._values = []

    def merge(self, other: ListAccumulator) -> None:
        self._values += other._values


class Histogram(Accumulator[Any, dict[Any, int]]):
    """Number of times that each value was added."""

    def __init__(self) -> None:
        self._tally: Tally[Any] = Tally()

    def add(self, value: Any) -> None:
        self._tally[value] += 1

    def get_local_value(self) -> dict[Any, int]:
        return dict(sorted(self._tally.items()))

    def reset_local(self) -> None:
        self._tally = Tally()

    def merge(self, other: Histogram) -> None:
        self._tally.update(other._tally)


def merge_all(totals: Accumulators, added: Accumulators) -> None:
    """Merge accumulators into those with the same names.

    Raises:
        JobExecutionError: that one is of another kind.
    """
    for name, accumulator in added.items():
        known = totals.get(name)
        if known is None:
            totals[name] = accumulator.clone()
        elif type(known) is type(accumulator):
            known.merge(accumulator)
        else:
            raise JobExecutionError(
                f"accumulator '{name}' is a {type(known).__name__} in one operator and a "
                f"{type(accumulator).__name__} in another; give each its own name"
            )
