"""Flink's built-in aggregates as `AggregateFunction` classes, to derive others from.

SQL has them as columns, which is faster by far: these are for a class that changes one thing of
``AVG``. Flink docs: "System (Built-in) Functions", Aggregate Functions. PyFlink has them in
``pyflink.table.functions``.
"""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from typing import Any

from millrace.table_runtime.user_defined_functions import AggregateFunction

__all__ = [
    "AvgAggFunction",
    "Count1AggFunction",
    "CountAggFunction",
    "DecimalSum0AggFunction",
    "FirstValueAggFunction",
    "FirstValueWithRetractAggFunction",
    "FloatSum0AggFunction",
    "IntSum0AggFunction",
    "LastValueAggFunction",
    "LastValueWithRetractAggFunction",
    "ListAggFunction",
    "ListAggWithRetractAggFunction",
    "ListAggWsWithRetractAggFunction",
    "MaxAggFunction",
    "MaxWithRetractAggFunction",
    "MinAggFunction",
    "MinWithRetractAggFunction",
    "Sum0AggFunction",
    "SumAggFunction",
    "SumWithRetractAggFunction",
    "WelfordM2AggFunction",
]


class Count1AggFunction(AggregateFunction):
    """COUNT(*)."""

    def create_accumulator(self) -> list[int]:
        return [0]

    def accumulate(self, accumulator: list[int], *args: Any) -> None:
        accumulator[0] += 1

    def retract(self, accumulator: list[int], *args: Any) -> None:
        accumulator[0] -= 1

    def merge(self, accumulator: list[int], accumulators: Any) -> None:
        accumulator[0] += sum(other[0] for other in accumulators)

    def get_value(self, accumulator: list[int]) -> int:
        return accumulator[0]


class CountAggFunction(Count1AggFunction):
    """COUNT(x): number of values that are not NULL."""

    def accumulate(self, accumulator: list[int], *args: Any) -> None:
        accumulator[0] += args[0] is not None

    def retract(self, accumulator: list[int], *args: Any) -> None:
        accumulator[0] -= args[0] is not None


class SumWithRetractAggFunction(AggregateFunction):
    """SUM(x); NULL if there are no values. The accumulator has the sum and the number of values."""

    start: Any = 0

    def create_accumulator(self) -> list[Any]:
        return [self.start, 0]

    def accumulate(self, accumulator: list[Any], *args: Any) -> None:
        if args[0] is not None:
            accumulator[0] += args[0]
            accumulator[1] += 1

    def retract(self, accumulator: list[Any], *args: Any) -> None:
        if args[0] is not None:
            accumulator[0] -= args[0]
            accumulator[1] -= 1

    def merge(self, accumulator: list[Any], accumulators: Any) -> None:
        for other in accumulators:
            accumulator[0] += other[0]
            accumulator[1] += other[1]

    def get_value(self, accumulator: list[Any]) -> Any:
        return accumulator[0] if accumulator[1] else None


class SumAggFunction(SumWithRetractAggFunction):
    """SUM(x); NULL if there are no values."""


class AvgAggFunction(SumWithRetractAggFunction):
    """AVG(x); NULL if there are no values. For integers the result is truncated."""

    def get_value(self, accumulator: list[Any]) -> Any:
        total, count = accumulator
        if not count:
            return None
        if isinstance(total, int):
            return abs(total) // count * (1 if total >= 0 else -1)
        return total / count


class Sum0AggFunction(SumWithRetractAggFunction):
    """SUM(x); 0 if there are no values."""

    def get_value(self, accumulator: list[Any]) -> Any:
        return accumulator[0]


class IntSum0AggFunction(Sum0AggFunction):
    """`Sum0AggFunction` for integers."""


class FloatSum0AggFunction(Sum0AggFunction):
    """`Sum0AggFunction` for floating-point numbers."""

    start = 0.0


class DecimalSum0AggFunction(Sum0AggFunction):
    """`Sum0AggFunction` for decimals."""

    start = Decimal(0)


class FirstValueAggFunction(AggregateFunction):
    """FIRST_VALUE(x): the first value that is not NULL. The accumulator has this value, or is
    empty.
    """

    def create_accumulator(self) -> list[Any]:
        return []

    def accumulate(self, accumulator: list[Any], *args: Any) -> None:
        if args[0] is not None and not accumulator:
            accumulator.append(args[0])

    def get_value(self, accumulator: list[Any]) -> Any:
        return accumulator[0] if accumulator else None


class LastValueAggFunction(FirstValueAggFunction):
    """LAST_VALUE(x): the last value that is not NULL."""

    def accumulate(self, accumulator: list[Any], *args: Any) -> None:
        if args[0] is not None:
            accumulator[:] = [args[0]]


class _Values(AggregateFunction):
    """Accumulator that keeps all values that are not NULL, in the order of their arrival."""

    def create_accumulator(self) -> list[Any]:
        return []

    def accumulate(self, accumulator: list[Any], *args: Any) -> None:
        if args[0] is not None:
            accumulator.append(args[0])

    def retract(self, accumulator: list[Any], *args: Any) -> None:
        if args[0] in accumulator:
            accumulator.remove(args[0])

    def merge(self, accumulator: list[Any], accumulators: Any) -> None:
        for other in accumulators:
            accumulator += other


class FirstValueWithRetractAggFunction(_Values):
    """FIRST_VALUE(x) with retraction."""

    def get_value(self, accumulator: list[Any]) -> Any:
        return accumulator[0] if accumulator else None


class LastValueWithRetractAggFunction(_Values):
    """LAST_VALUE(x) with retraction."""

    def get_value(self, accumulator: list[Any]) -> Any:
        return accumulator[-1] if accumulator else None


class ListAggWithRetractAggFunction(_Values):
    """LISTAGG(x) with retraction: the texts joined by commas; NULL if there are none."""

    def get_value(self, accumulator: list[Any]) -> str | None:
        return ",".join(accumulator) if accumulator else None


class ListAggFunction(ListAggWithRetractAggFunction):
    """LISTAGG(x) without retraction."""


class ListAggWsWithRetractAggFunction(AggregateFunction):
    """LISTAGG(x, separator): with the separator of the last row."""

    def create_accumulator(self) -> list[Any]:
        return [[], ","]

    def accumulate(self, accumulator: list[Any], *args: Any) -> None:
        if args[0] is not None:
            accumulator[0].append(args[0])
            accumulator[1] = args[1]

    def retract(self, accumulator: list[Any], *args: Any) -> None:
        if args[0] in accumulator[0]:
            accumulator[0].remove(args[0])

    def merge(self, accumulator: list[Any], accumulators: Any) -> None:
        for values, separator in accumulators:
            if values:
                accumulator[0] += values
                accumulator[1] = separator

    def get_value(self, accumulator: list[Any]) -> str | None:
        values, separator = accumulator
        return str(separator).join(values) if values else None


class MaxAggFunction(AggregateFunction):
    """MAX(x); NULL if there are no values. The accumulator has the greatest value, or is empty."""

    def create_accumulator(self) -> list[Any]:
        return []

    def accumulate(self, accumulator: list[Any], *args: Any) -> None:
        if args[0] is not None:
            accumulator[:] = [self._of([*accumulator, args[0]])]

    def merge(self, accumulator: list[Any], accumulators: Any) -> None:
        for other in accumulators:
            for value in other:
                self.accumulate(accumulator, value)

    def get_value(self, accumulator: list[Any]) -> Any:
        return accumulator[0] if accumulator else None

    def _of(self, values: Any) -> Any:
        return max(values)


class MinAggFunction(MaxAggFunction):
    """MIN(x); NULL if there are no values."""

    def _of(self, values: Any) -> Any:
        return min(values)


class MaxWithRetractAggFunction(AggregateFunction):
    """MAX(x) with retraction. The accumulator counts the occurrences of each value."""

    def create_accumulator(self) -> Counter[Any]:
        return Counter()

    def accumulate(self, accumulator: Counter[Any], *args: Any) -> None:
        if args[0] is not None:
            self._add(accumulator, args[0], 1)

    def retract(self, accumulator: Counter[Any], *args: Any) -> None:
        if args[0] is not None:
            self._add(accumulator, args[0], -1)

    def merge(self, accumulator: Counter[Any], accumulators: Any) -> None:
        for other in accumulators:
            for value, count in other.items():
                self._add(accumulator, value, count)

    def get_value(self, accumulator: Counter[Any]) -> Any:
        # a row may be taken back before it comes, where its changes meet out of order
        return self._of(value for value, count in accumulator.items() if count > 0)

    def _of(self, values: Any) -> Any:
        return max(values, default=None)

    def _add(self, accumulator: Counter[Any], value: Any, count: int) -> None:
        accumulator[value] += count
        if not accumulator[value]:
            del accumulator[value]


class MinWithRetractAggFunction(MaxWithRetractAggFunction):
    """MIN(x) with retraction."""

    def _of(self, values: Any) -> Any:
        return min(values, default=None)


class WelfordM2AggFunction(AggregateFunction):
    """The sum of squared differences from the mean, from which VAR_POP and the like are computed;
    NULL if there are no values. The accumulator has the number of values, their mean, and the sum.

    B. P. Welford, "Note on a Method for Calculating Corrected Sums of Squares and Products" (1962).
    """

    def create_accumulator(self) -> list[Any]:
        return [0, 0.0, 0.0]

    def accumulate(self, accumulator: list[Any], *args: Any) -> None:
        if args[0] is not None:
            self._combine(accumulator, 1, float(args[0]), 0.0)

    def retract(self, accumulator: list[Any], *args: Any) -> None:
        if args[0] is None:
            return
        count, mean, squares = accumulator
        if count <= 1:
            accumulator[:] = self.create_accumulator()
            return
        before = (mean * count - float(args[0])) / (count - 1)
        squares -= (float(args[0]) - mean) * (float(args[0]) - before)
        accumulator[:] = [count - 1, before, squares]

    def merge(self, accumulator: list[Any], accumulators: Any) -> None:
        for other in accumulators:
            self._combine(accumulator, *other)

    def get_value(self, accumulator: list[Any]) -> float | None:
        return accumulator[2] if accumulator[0] else None

    def _combine(self, accumulator: list[Any], count: int, mean: float, squares: float) -> None:
        if not count:
            return
        total, shift = accumulator[0] + count, mean - accumulator[1]
        accumulator[2] += squares + shift * shift * accumulator[0] * count / total
        accumulator[1] += shift * count / total
        accumulator[0] = total
