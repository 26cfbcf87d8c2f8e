"""`interval_bounds`: the largest difference between the times of two joined rows.

Flink docs, "Interval Joins"; Flink: ``IntervalJoinUtil``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from millrace.common.types.logical.logical_type import LocalZonedTimestampType, TimestampType
from millrace.expressions import built_in
from millrace.expressions.resolved import (
    Call,
    Cast,
    FieldReference,
    ResolvedExpression,
    ValueLiteral,
)
from millrace.planner.relational.rewriting import conjuncts
from millrace.planner.relational.stream_rel_nodes import TimeAttribute

__all__ = ["IntervalBounds", "interval_bounds"]

_SUMS = (built_in.PLUS, built_in.MINUS)
_MILLISECOND = timedelta(milliseconds=1)


@dataclass(frozen=True)
class IntervalBounds:
    """Bounds of an interval join: two rows match only if ``right + lower <= left <= right + upper``
    holds for their times.

    Attributes:
        left, right: positions of the times, each in the row of its side.
        lower, upper: in ms.
        rowtime: whether they are event times, else processing times.
        parts: the conditions that say so.
    """

    left: int
    right: int
    lower: int
    upper: int
    rowtime: bool
    parts: tuple[ResolvedExpression, ...]


def interval_bounds(
    condition: ResolvedExpression, times: Mapping[int, TimeAttribute], width: int
) -> IntervalBounds | None:
    """The bounds in a condition over a left row of ``width`` columns and a right row; None if a
    bound is missing.

    Args:
        times: the time attributes of the joined row.
    """
    by_pair: dict[tuple[int, int], list[tuple[int | None, int | None, ResolvedExpression]]] = {}
    for part in conjuncts(condition):
        bound = _bound(part, times, width)
        if bound is not None:
            pair, low, high = bound
            by_pair.setdefault(pair, []).append((low, high, part))
    for (left, right), bounds in by_pair.items():
        lows = [low for low, _, _ in bounds if low is not None]
        highs = [high for _, high, _ in bounds if high is not None]
        if lows and highs:
            rowtime = times[left] is TimeAttribute.ROWTIME
            parts = tuple(part for _, _, part in bounds)
            return IntervalBounds(left, right - width, max(lows), min(highs), rowtime, parts)
    return None


def _bound(
    part: ResolvedExpression, times: Mapping[int, TimeAttribute], width: int
) -> tuple[tuple[int, int], int | None, int | None] | None:
    """The two times that a comparison compares, and the least and the greatest difference it
    allows."""
    if not isinstance(part, Call) or part.function not in built_in.SWAPPED_COMPARISONS:
        return None
    sides = [_shifted_time(argument, times) for argument in part.arguments]
    if sides[0] is None or sides[1] is None:
        return None
    (one, one_shift), (two, two_shift), function = sides[0], sides[1], part.function
    if one >= width:
        one, one_shift, two, two_shift = two, two_shift, one, one_shift
        function = built_in.SWAPPED_COMPARISONS[function]
    if one >= width or two < width or times[one] is not times[two]:
        return None
    difference = two_shift - one_shift
    low = {
        built_in.GREATER_THAN: difference + 1,
        built_in.GREATER_THAN_OR_EQUAL: difference,
        built_in.EQUALS: difference,
    }.get(function)
    high = {
        built_in.LESS_THAN: difference - 1,
        built_in.LESS_THAN_OR_EQUAL: difference,
        built_in.EQUALS: difference,
    }.get(function)
    return None if low is None and high is None else ((one, two), low, high)


def _shifted_time(
    expression: ResolvedExpression, times: Mapping[int, TimeAttribute]
) -> tuple[int, int] | None:
    """Position of a time attribute, and the ms added to it."""
    if isinstance(expression, FieldReference):
        return (expression.index, 0) if expression.index in times else None
    if isinstance(expression, Cast) and _widens(expression):
        return _shifted_time(expression.operand, times)
    if not isinstance(expression, Call) or expression.function not in _SUMS:
        return None
    if len(expression.arguments) != 2:
        return None
    one, two = expression.arguments
    time, amount = _shifted_time(one, times), _interval(two)
    if time is None and expression.function is built_in.PLUS:
        time, amount = _shifted_time(two, times), _interval(one)
    if time is None or amount is None:
        return None
    return time[0], time[1] + (amount if expression.function is built_in.PLUS else -amount)


def _widens(cast: Cast) -> bool:
    """Whether a cast changes only the precision of a timestamp, not its value."""
    one, two = cast.operand.output_type, cast.type
    for kind in (TimestampType, LocalZonedTimestampType):
        if isinstance(one, kind) and isinstance(two, kind):
            return one.precision <= two.precision
    return False


def _interval(expression: ResolvedExpression) -> int | None:
    """Length of a constant interval of days or smaller units, in ms."""
    if isinstance(expression, ValueLiteral):
        value = expression.value
        if isinstance(value, timedelta) and not value % _MILLISECOND:
            return value // _MILLISECOND
        return None
    if not isinstance(expression, Call):
        return None
    parts = [_interval(argument) for argument in expression.arguments]
    if expression.function is built_in.MINUS and len(parts) == 1 and parts[0] is not None:
        return -parts[0]
    if expression.function in _SUMS and len(parts) == 2:
        one, two = parts
        if one is not None and two is not None:
            return one + two if expression.function is built_in.PLUS else one - two
    if expression.function is built_in.TIMES and len(parts) == 2:
        return _multiple(expression.arguments, parts)
    return None


def _multiple(arguments: tuple[ResolvedExpression, ...], amounts: list[int | None]) -> int | None:
    for factor, amount in ((arguments[1], amounts[0]), (arguments[0], amounts[1])):
        while isinstance(factor, Cast):
            factor = factor.operand
        if amount is not None and isinstance(factor, ValueLiteral):
            return amount * factor.value if isinstance(factor.value, int) else None
    return None
