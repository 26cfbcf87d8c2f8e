"""`HeldValueAccumulator`: an aggregate whose value is the value of one of its rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from millrace.common.types.logical import logical_type as logical
from millrace.common.types.logical.logical_type import LogicalType
from millrace.expressions.aggregates.accumulator import ColumnAccumulator, Columns, Slots
from millrace.expressions.aggregates.running import valid_so_far

__all__ = ["HeldValueAccumulator", "held_as_number", "integers_of", "values_of_integers"]

_IN_NUMBERS = (
    logical.IntegralType,
    logical.FloatType,
    logical.DoubleType,
    logical.DateType,
    logical.TimeType,
    logical.TimestampType,
    logical.LocalZonedTimestampType,
    logical.YearMonthIntervalType,
    logical.DayTimeIntervalType,
    logical.BooleanType,
)


class HeldValueAccumulator(ColumnAccumulator):
    """Keeps two columns: whether there is a value, and the value. Numbers and times are kept as
    numbers, other types as Python objects.
    """

    retracts = False

    def __init__(self, argument_types: tuple[LogicalType, ...], result_type: LogicalType) -> None:
        super().__init__(argument_types, result_type)
        self._numbers = held_as_number(argument_types[0])
        self._approximate = isinstance(argument_types[0], (logical.FloatType, logical.DoubleType))

    def columns(self) -> tuple[np.dtype[Any], ...]:
        if not self._numbers:
            return (np.dtype(np.int64), np.dtype(object))
        return (np.dtype(np.int64), np.dtype(np.float64 if self._approximate else np.int64))

    def _raw(self, values: pa.Array) -> Any:
        """Values without NULLs, converted for the accumulator's column."""
        if not self._numbers:
            return np.fromiter(values.to_pylist(), object, len(values))
        if self._approximate:
            return values.to_numpy(zero_copy_only=False).astype(np.float64)
        return integers_of(values)

    def running(
        self,
        carry: Columns,
        begins: Slots,
        arguments: list[pa.Array],
        counted: NDArray[np.bool_] | None,
    ) -> Columns | None:
        (values,) = arguments
        valid = pc.is_valid(values).to_numpy(zero_copy_only=False)
        valid = valid if counted is None else valid & counted
        raw = np.zeros(len(values), carry[1].dtype)
        raw[valid] = self._raw(values.filter(pa.array(valid)))
        held = self._running(raw, valid, begins, carry)
        if held is None:
            return None
        known = (valid_so_far(valid, begins) >= 0) | np.repeat(
            carry[0] != 0, np.diff(begins, append=valid.size)
        )
        return known.astype(np.int64), held

    def _running(
        self, raw: NDArray[Any], valid: NDArray[np.bool_], begins: Slots, carry: Columns
    ) -> NDArray[Any] | None:
        """The value held after each row, undefined where there is none; None if the accumulator
        does not support `running`."""
        return None

    def value(self, slots: Slots, columns: Columns) -> pa.Array:
        none, raw = columns[0][slots] == 0, columns[1][slots]
        if not self._numbers:
            return pa.array(raw.tolist(), self.arrow)
        made = pa.array(raw)
        made = made.cast(self.arrow) if self._approximate else values_of_integers(made, self.arrow)
        return pc.if_else(pa.array(none), pa.scalar(None, self.arrow), made) if none.any() else made


def held_as_number(kind: LogicalType) -> bool:
    """Whether the accumulator keeps values of a type as numbers."""
    return isinstance(kind, _IN_NUMBERS)


def integers_of(values: pa.Array) -> Any:
    """Times, booleans and integers as 64-bit integers; the values must not be NULL."""
    kind = values.type
    if pa.types.is_boolean(kind):
        values = values.cast(pa.int8())
    elif pa.types.is_date32(kind) or pa.types.is_time32(kind):
        values = values.cast(pa.int32())
    return values.cast(pa.int64()).to_numpy(zero_copy_only=False)


def values_of_integers(values: pa.Array, arrow: pa.DataType) -> pa.Array:
    """Times, booleans and integers made from 64-bit integers, as the reverse of `integers_of`."""
    if pa.types.is_boolean(arrow):
        return values.cast(pa.int8()).cast(arrow)
    if pa.types.is_date32(arrow) or pa.types.is_time32(arrow):
        return values.cast(pa.int32()).cast(arrow)
    return values.cast(arrow, safe=False)
