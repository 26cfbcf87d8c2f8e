"""Accumulators of COUNT, SUM and AVG."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from millrace.common.types.logical import logical_type as logical
from millrace.common.types.logical.logical_type import LogicalType
from millrace.expressions.aggregates.accumulator import ColumnAccumulator, Columns, Signs, Slots
from millrace.expressions.aggregates.running import running_sum, running_ufunc
from millrace.expressions.casting.numbers import to_decimal

__all__ = ["AvgAccumulator", "CountAccumulator", "SumAccumulator"]

_COUNT = np.dtype(np.int64)
_MASK = 0xFFFFFFFF


def _valid(arguments: list[pa.Array]) -> NDArray[np.bool_] | None:
    """Mask of the rows without NULLs; None if no row has one."""
    masks = [pc.is_valid(argument) for argument in arguments if argument.null_count]
    if not masks:
        return None
    valid: NDArray[np.bool_] = masks[0].to_numpy(zero_copy_only=False)
    for mask in masks[1:]:
        valid = valid & mask.to_numpy(zero_copy_only=False)
    return valid


def _counted(
    arguments: list[pa.Array], counted: NDArray[np.bool_] | None, rows: int
) -> NDArray[np.bool_]:
    """Mask of the rows that count and have no NULLs."""
    valid = _valid(arguments)
    if valid is None:
        return np.ones(rows, np.bool_) if counted is None else counted
    return valid if counted is None else valid & counted


def add_at(column: NDArray[Any], slots: Slots, values: Any) -> None:
    """Add to slots of a column; ``values`` is one number or one per row. Integers wrap on
    overflow."""
    if isinstance(values, int) and len(slots) > len(column) // 8 and column.dtype == _COUNT:
        counts = np.bincount(slots)
        column[: len(counts)] += counts * values
    else:
        np.add.at(column, slots, values)


class CountAccumulator(ColumnAccumulator):
    """COUNT(*), or the count of rows where no argument is NULL."""

    def columns(self) -> tuple[np.dtype[Any], ...]:
        return (_COUNT,)

    def accumulate(
        self, slots: Slots, columns: Columns, arguments: list[pa.Array], signs: Signs = None
    ) -> None:
        valid = _valid(arguments)
        if valid is not None:
            slots = slots[valid]
            signs = None if signs is None else signs[valid]
        add_at(columns[0], slots, 1 if signs is None else signs.astype(np.int64))

    def running(
        self,
        carry: Columns,
        begins: Slots,
        arguments: list[pa.Array],
        counted: NDArray[np.bool_] | None,
    ) -> Columns | None:
        if arguments:
            counted = _counted(arguments, counted, len(arguments[0]))
        if counted is None:
            return None  # how many rows there are, it cannot know
        valid = counted
        return (running_sum(valid.astype(np.int64), begins, carry[0]),)

    def merge(self, slots: Slots, columns: Columns, other_slots: Slots, others: Columns) -> None:
        np.add.at(columns[0], slots, others[0][other_slots])

    def value(self, slots: Slots, columns: Columns) -> pa.Array:
        return pa.array(columns[0][slots])


class SumAccumulator(ColumnAccumulator):
    """SUM (NULL without values), or SUM0 if ``empty`` is 0. It also keeps the number of values.

    Integers wrap as in Java. Decimals are kept as 64, 32 and again 64 bits of an integer, so that
    a sum that needs more than 38 digits is null, as in Flink, and not another number.
    """

    def __init__(
        self,
        argument_types: tuple[LogicalType, ...],
        result_type: LogicalType,
        empty: int | None = None,
    ) -> None:
        super().__init__(argument_types, result_type)
        self._empty = empty
        self._decimal = isinstance(argument_types[0], logical.DecimalType)

    def columns(self) -> tuple[np.dtype[Any], ...]:
        if self._decimal:
            return (_COUNT, _COUNT, _COUNT, _COUNT)
        if isinstance(self.argument_types[0], logical.IntegralType):
            return (_COUNT, _COUNT)
        return (_COUNT, np.dtype(np.float64))

    def accumulate(
        self, slots: Slots, columns: Columns, arguments: list[pa.Array], signs: Signs = None
    ) -> None:
        (values,) = arguments
        valid = _valid(arguments)
        if valid is not None:
            slots, values = slots[valid], values.drop_null()
            signs = None if signs is None else signs[valid]
        add_at(columns[0], slots, 1 if signs is None else signs.astype(np.int64))
        if self._decimal:
            self._add_decimals(slots, columns, values, signs)
            return
        numbers = values.to_numpy(zero_copy_only=False).astype(columns[1].dtype, copy=False)
        with np.errstate(invalid="ignore", over="ignore"):  # of infinities
            np.add.at(columns[1], slots, numbers if signs is None else numbers * signs)

    def running(
        self,
        carry: Columns,
        begins: Slots,
        arguments: list[pa.Array],
        counted: NDArray[np.bool_] | None,
    ) -> Columns | None:
        (values,) = arguments
        valid = _counted(arguments, counted, len(values))
        counts = running_sum(valid.astype(np.int64), begins, carry[0])
        if self._decimal:
            return counts, *self._running_decimals(carry, begins, values, valid)
        if values.null_count:
            values = pc.fill_null(values, pa.scalar(0, values.type))
        numbers = values.to_numpy(zero_copy_only=False).astype(carry[1].dtype)
        numbers[~valid] = 0
        if carry[1].dtype == _COUNT:
            return counts, running_sum(numbers, begins, carry[1])
        numbers[begins] += carry[1]
        return counts, running_ufunc(np.add, numbers, begins)

    @staticmethod
    def _running_decimals(
        carry: Columns, begins: Slots, values: pa.Array, valid: NDArray[np.bool_]
    ) -> Columns:
        low, high = _halves(values)
        low, high = np.where(valid, low, np.uint64(0)), np.where(valid, high, 0)
        mask, before = np.uint64(_MASK), carry[1].view(np.uint64)
        shift, wide = np.uint64(32), np.int64
        lower = running_sum((low & mask).astype(wide), begins, (before & mask).astype(wide))
        upper = running_sum((low >> shift).astype(wide), begins, (before >> shift).astype(wide))
        upper = upper + (lower >> 32)
        middle = running_sum(high & _MASK, begins, carry[2]) + (upper >> 32)
        top = running_sum(high >> 32, begins, carry[3]) + (middle >> 32)
        return ((upper & _MASK) << 32) | (lower & _MASK), middle & _MASK, top

    def _add_decimals(self, slots: Slots, columns: Columns, values: pa.Array, signs: Signs) -> None:
        low, high = _halves(values)
        if signs is not None and np.any(signs < 0):
            low, high = _negated(low, high, signs < 0)
        _add_limbs(columns, slots, low, high & _MASK, high >> 32)

    def merge(self, slots: Slots, columns: Columns, other_slots: Slots, others: Columns) -> None:
        np.add.at(columns[0], slots, others[0][other_slots])
        if not self._decimal:
            np.add.at(columns[1], slots, others[1][other_slots])
            return
        low, middle, top = (column[other_slots] for column in others[1:])
        _add_limbs(columns, slots, low.view(np.uint64), middle, top)

    def value(self, slots: Slots, columns: Columns) -> pa.Array:
        made = self.totals(slots, columns)
        if isinstance(self.result_type, logical.DecimalType):
            made = to_decimal(made, self.result_type)
        else:
            made = made.cast(self.arrow, safe=False)
        none = columns[0][slots] == 0
        if not none.any():
            return made
        filler = pa.array([self._empty], self.arrow)[0]
        return pc.if_else(pa.array(none), filler, made)

    def totals(self, slots: Slots, columns: Columns) -> pa.Array:
        """The sums, of 64 bits or of 38 digits. A sum without values is 0, and a sum of more than
        38 digits is NULL.
        """
        if not self._decimal:
            return pa.array(columns[1][slots])
        low, middle, top = (column[slots] for column in columns[1:])
        halves = np.empty((len(slots), 2), np.int64)
        halves[:, 0], halves[:, 1] = low, (top << 32) | middle
        scale = self.argument_types[0].scale  # type: ignore[attr-defined]
        buffers = [None, pa.py_buffer(halves.tobytes())]
        made = pa.Array.from_buffers(pa.decimal128(38, scale), len(slots), buffers)
        over = (top != (top << 32) >> 32) | _beyond_38_digits(low.view(np.uint64), halves[:, 1])
        return pc.if_else(pa.array(over), pa.scalar(None, made.type), made) if over.any() else made


def _halves(values: pa.Array) -> tuple[Any, Any]:
    """The low and the high 64 bits of decimals."""
    raw = values.cast(pa.decimal128(38, values.type.scale))
    halves = np.frombuffer(raw.buffers()[1], np.int64)[2 * raw.offset :][: 2 * len(raw)]
    return halves[0::2].view(np.uint64), halves[1::2]


def _negated(low: Any, high: Any, rows: NDArray[np.bool_]) -> tuple[Any, Any]:
    """The numbers, with the sign of some rows inverted, in two's complement."""
    flipped = (~low) + np.uint64(1)
    carried = (~high) + (flipped == 0)
    return np.where(rows, flipped, low), np.where(rows, carried, high)


def _add_limbs(columns: Columns, slots: Slots, low: Any, middle: Any, top: Any) -> None:
    """Add numbers, each in three parts, to slots, which may repeat. The parts are the low 64 bits
    (unsigned), the next 32 bits (unsigned) and the top 64 bits.

    Sums of 32 bits never overflow within a batch; what is over goes up.
    """
    if not len(slots):
        return
    order = np.argsort(slots, kind="stable")
    slots = slots[order]
    starts = np.flatnonzero(np.r_[True, slots[1:] != slots[:-1]])
    unique = slots[starts]
    mask = np.uint64(_MASK)
    lower = np.add.reduceat((low & mask).astype(np.int64)[order], starts)
    upper = np.add.reduceat((low >> np.uint64(32)).astype(np.int64)[order], starts)
    old = columns[1][unique].view(np.uint64)
    lower += (old & mask).astype(np.int64)
    upper += (old >> np.uint64(32)).astype(np.int64) + (lower >> 32)
    columns[1][unique] = ((upper & _MASK) << 32) | (lower & _MASK)
    middle = np.add.reduceat(middle[order], starts) + columns[2][unique] + (upper >> 32)
    columns[2][unique] = middle & _MASK
    columns[3][unique] += np.add.reduceat(top[order], starts) + (middle >> 32)


def _beyond_38_digits(low: Any, high: Any) -> NDArray[np.bool_]:
    """Mask of the 128-bit numbers that do not fit a DECIMAL."""
    low, high = _negated(low, high, high < 0)
    limit = divmod(10**38, 1 << 64)
    beyond: NDArray[np.bool_] = (
        (high > limit[0]) | (high < 0) | ((high == limit[0]) & (low >= np.uint64(limit[1])))
    )
    return beyond


class AvgAccumulator(SumAccumulator):
    """AVG, computed from sum and count; truncated for integers, and rounded half up for
    decimals."""

    def __init__(self, argument_types: tuple[LogicalType, ...], result_type: LogicalType) -> None:
        super().__init__(argument_types, result_type)

    def value(self, slots: Slots, columns: Columns) -> pa.Array:
        counts, totals = columns[0][slots], self.totals(slots, columns)
        none = counts == 0
        divisors = np.where(none, 1, counts)
        if self._decimal:
            made = self._decimal_means(totals, divisors)
        elif isinstance(self.result_type, logical.IntegralType):
            made = pc.divide(totals, pa.array(divisors)).cast(self.arrow, safe=False)
        else:
            made = pc.divide(totals, pa.array(divisors.astype(np.float64))).cast(self.arrow)
        return pc.if_else(pa.array(none), pa.scalar(None, self.arrow), made) if none.any() else made

    def _decimal_means(self, totals: pa.Array, divisors: NDArray[np.int64]) -> pa.Array:
        from decimal import ROUND_HALF_UP, Context, Decimal

        assert isinstance(self.result_type, logical.DecimalType)
        context = Context(prec=76, rounding=ROUND_HALF_UP)
        step = Decimal(1).scaleb(-self.result_type.scale)
        limit = Decimal(1).scaleb(self.result_type.precision - self.result_type.scale)

        def mean(total: Decimal | None, count: int) -> Decimal | None:
            if total is None:
                return None
            quotient = context.divide(total, Decimal(count)).quantize(step, ROUND_HALF_UP, context)
            return quotient if quotient.copy_abs() < limit else None

        means = list(map(mean, totals.to_pylist(), divisors.tolist()))
        return pa.array(means, self.arrow)
