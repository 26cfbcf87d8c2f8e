"""Accumulators of VAR_POP, VAR_SAMP, STDDEV_POP and STDDEV_SAMP."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millrace.common.types.logical import logical_type as logical
from millrace.common.types.logical.logical_type import LogicalType
from millrace.expressions.aggregates.accumulator import ColumnAccumulator, Columns, Signs, Slots
from millrace.expressions.casting.numbers import to_decimal

__all__ = ["VarianceAccumulator"]

_DIGITS = 9
"""Behind the point, to which a result is rounded before it is cut to an integer."""


class VarianceAccumulator(ColumnAccumulator):
    """Variances and standard deviations, computed from count, mean and sum of squared differences.
    They are merged by Chan's formula, which stays precise for values far from 0.

    Args:
        argument_types: type of the values.
        result_type: as Flink has it: of integers an integer.
        sample: divide by one less than the number; of one value there is none.
        root: the standard deviation.
    """

    def __init__(
        self,
        argument_types: tuple[LogicalType, ...],
        result_type: LogicalType,
        sample: bool,
        root: bool,
    ) -> None:
        super().__init__(argument_types, result_type)
        self._sample, self._root = sample, root

    def columns(self) -> tuple[np.dtype[Any], ...]:
        return (np.dtype(np.int64), np.dtype(np.float64), np.dtype(np.float64))

    def accumulate(
        self, slots: Slots, columns: Columns, arguments: list[pa.Array], signs: Signs = None
    ) -> None:
        (values,) = arguments
        if values.null_count:
            valid = pc.is_valid(values).to_numpy(zero_copy_only=False)
            slots, values = slots[valid], values.drop_null()
            signs = None if signs is None else signs[valid]
        numbers = values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        came = slice(None) if signs is None else signs > 0
        _put(columns, _moments(slots[came], numbers[came]), 1)
        if signs is not None:
            _put(columns, _moments(slots[signs < 0], numbers[signs < 0]), -1)

    def merge(self, slots: Slots, columns: Columns, other_slots: Slots, others: Columns) -> None:
        counts, means, squares = (column[other_slots] for column in others)
        if len(np.unique(slots)) == len(slots):
            _put(columns, (slots, counts, means, squares), 1)
            return
        for row in range(len(slots)):
            one = slice(row, row + 1)
            _put(columns, (slots[one], counts[one], means[one], squares[one]), 1)

    def value(self, slots: Slots, columns: Columns) -> pa.Array:
        divisors = columns[0][slots] - int(self._sample)
        none = divisors <= 0
        made = np.maximum(columns[2][slots], 0) / np.where(none, 1, divisors)
        if self._root:
            made = np.sqrt(made)
        return self._of_type(made, none)

    def _of_type(self, made: Any, none: Any) -> pa.Array:
        kind = self.result_type
        if isinstance(kind, logical.DecimalType):
            return to_decimal(pa.array(made, mask=none), kind)
        if isinstance(kind, logical.IntegralType):
            made = np.trunc(np.round(made, _DIGITS))
        return pa.array(made, mask=none).cast(self.arrow, safe=False)


@np.errstate(invalid="ignore", over="ignore")
def _moments(slots: Slots, numbers: Any) -> tuple[Any, Any, Any, Any]:
    """The distinct slots of a batch, with count, mean and squared differences."""
    unique, places = np.unique(slots, return_inverse=True)
    counts = np.bincount(places, minlength=len(unique)).astype(np.int64)
    means = np.bincount(places, numbers, len(unique)) / np.maximum(counts, 1)
    squares = np.bincount(places, (numbers - means[places]) ** 2, len(unique))
    return unique, counts, means, squares


@np.errstate(invalid="ignore", over="ignore")
def _put(columns: Columns, moments: tuple[Any, Any, Any, Any], sign: int) -> None:
    """Add the moments of distinct slots, or retract them."""
    slots, counts, means, squares = moments
    held, mean, square = (column[slots] for column in columns)
    total = held + sign * counts
    left = np.where(total == 0, 1, total)
    apart = means - mean
    columns[0][slots] = total
    columns[1][slots] = np.where(total == 0, 0, mean + apart * (sign * counts) / left)
    between = apart**2 * held * counts / left
    columns[2][slots] = np.where(total == 0, 0, square + sign * (squares + between))
