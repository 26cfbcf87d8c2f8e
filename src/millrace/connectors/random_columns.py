"""Columns of generated values that depend on the row's number: sequences, and random values.

The same numbers always give the same values, so that a repeated read after a failure gives the same
rows. Semantics of the options: Flink docs, "DataGen SQL Connector".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from millrace.common.types.logical import logical_type as logical
from millrace.common.types.logical.arrow_type import arrow_type
from millrace.common.types.logical.logical_type import LogicalType

__all__ = ["Column", "random_words", "sequence", "uniform"]

Column = Callable[[NDArray[np.uint64]], Any]
"""Makes an array of values from the numbers of rows."""

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))
_HEX = np.array([f"{byte:02x}".encode() for byte in range(256)], dtype="S2").view(np.uint8)


def random_words(rows: NDArray[np.uint64], seed: int) -> NDArray[np.uint64]:
    """A random number of 64 bits for each row (SplitMix64 of the row's number)."""
    with np.errstate(over="ignore"):
        word = (rows + np.uint64(seed & 0xFFFFFFFFFFFFFFFF)) * _GOLDEN
        word ^= word >> np.uint64(30)
        word *= _MIX[0]
        word ^= word >> np.uint64(27)
        word *= _MIX[1]
        word ^= word >> np.uint64(31)
    return word


def uniform(rows: NDArray[np.uint64], seed: int) -> NDArray[np.float64]:
    """A random number for each row, from 0 up to, but not including, 1."""
    return (random_words(rows, seed) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def sequence(kind: LogicalType, start: int) -> Column:
    """Ascending numbers, converted to a column type; a text column has their digits."""
    target = arrow_type(kind)

    def column(rows: NDArray[np.uint64]) -> Any:
        return pa.array(rows.astype(np.int64) + start).cast(target)

    return column


def whole_numbers(kind: LogicalType, low: int, high: int, seed: int) -> Column:
    """Whole numbers from ``low`` to ``high``, both included."""
    span = high - low + 1
    target = arrow_type(kind)

    def column(rows: NDArray[np.uint64]) -> Any:
        words = random_words(rows, seed)
        drawn = words if span >= 1 << 64 else words % np.uint64(span)
        with np.errstate(over="ignore"):
            shifted = drawn + np.uint64(low & 0xFFFFFFFFFFFFFFFF)
        return pa.array(shifted.view(np.int64)).cast(target)

    return column


def real_numbers(kind: LogicalType, low: float, high: float, seed: int) -> Column:
    """Numbers from ``low`` up to ``high``; decimals in steps of their last digit."""
    target = arrow_type(kind)

    def column(rows: NDArray[np.uint64]) -> Any:
        drawn = uniform(rows, seed)
        values = drawn * high + (1 - drawn) * low
        if isinstance(kind, logical.DecimalType):
            return pa.array(np.round(values, kind.scale)).cast(target, safe=False)
        return pa.array(values).cast(target, safe=False)

    return column


def booleans(seed: int) -> Column:
    """Random booleans, TRUE and FALSE with equal probability."""
    return lambda rows: pa.array((random_words(rows, seed) & np.uint64(1)).astype(bool))


def texts(kind: LogicalType, length: int, var_len: bool, seed: int) -> Column:
    """Random texts of hexadecimal digits (for binary types: random bytes), of a fixed length or
    of at most that length."""
    target = arrow_type(kind)
    binary = isinstance(kind, (logical.BinaryType, logical.VarBinaryType))
    width = length if binary else -(-length // 2)

    def column(rows: NDArray[np.uint64]) -> Any:
        words = [random_words(rows, seed + (part << 8)) for part in range(-(-width // 8) or 1)]
        raw = np.stack(words, axis=1).view(np.uint8)[:, :width]
        if not binary:
            raw = _HEX.reshape(256, 2)[raw].reshape(len(rows), 2 * width)[:, :length]
        lengths = np.full(len(rows), length, np.int64)
        if var_len:
            lengths = 1 + (random_words(rows, seed - 1) % np.uint64(length)).astype(np.int64)
            raw = raw[np.arange(length) < lengths[:, None]]
        offsets = np.zeros(len(rows) + 1, np.int32)
        np.cumsum(lengths, out=offsets[1:])
        content = pa.py_buffer(np.ascontiguousarray(raw).tobytes())
        made = pa.Array.from_buffers(
            pa.binary() if binary else pa.string(),
            len(rows),
            [None, pa.py_buffer(offsets.tobytes()), content],
        )
        return made.cast(target)

    return column


def past_times(kind: LogicalType, now: int, max_past: int, seed: int) -> Column:
    """Points in time up to ``max_past`` ms before ``now``."""
    target = arrow_type(kind)

    def column(rows: NDArray[np.uint64]) -> Any:
        past = (uniform(rows, seed) * (max_past + 1)).astype(np.int64) if max_past else 0
        times = np.broadcast_to(np.int64(now) - past, len(rows))
        if isinstance(kind, logical.DateType):
            return pa.array((times // 86_400_000).astype(np.int32)).cast(target)
        if isinstance(kind, logical.TimeType):
            return (
                pa.array((times % 86_400_000).astype(np.int32))
                .cast(pa.time32("ms"))
                .cast(target, safe=False)
            )
        zone = "UTC" if isinstance(kind, logical.LocalZonedTimestampType) else None
        return (
            pa.array(np.ascontiguousarray(times))
            .cast(pa.timestamp("ms", zone))
            .cast(target, safe=False)
        )

    return column


def with_nulls(column: Column, rate: float, seed: int) -> Column:
    """The column with NULL in a fraction of its rows."""

    def thinned(rows: NDArray[np.uint64]) -> Any:
        import pyarrow.compute as pc

        values = column(rows)
        missing = pa.array(uniform(rows, seed ^ 0x5EED) < rate)
        return pc.if_else(missing, pa.scalar(None, values.type), values)

    return thinned


def lists(kind: LogicalType, element: Column, length: int) -> Column:
    """Arrays of ``length`` elements each."""
    target = arrow_type(kind)

    def column(rows: NDArray[np.uint64]) -> Any:
        inner = element((rows[:, None] * np.uint64(length) + _steps(length)).ravel())
        return pa.ListArray.from_arrays(_offsets(len(rows), length), inner).cast(target)

    return column


def maps(kind: LogicalType, key: Column, value: Column, length: int) -> Column:
    """Maps of ``length`` entries each."""
    target = arrow_type(kind)

    def column(rows: NDArray[np.uint64]) -> Any:
        inner = (rows[:, None] * np.uint64(length) + _steps(length)).ravel()
        offsets = _offsets(len(rows), length)
        return pa.MapArray.from_arrays(offsets, key(inner), value(inner)).cast(target)

    return column


def structs(kind: LogicalType, fields: list[Column]) -> Column:
    """Rows with the given fields."""
    target = arrow_type(kind)

    def column(rows: NDArray[np.uint64]) -> Any:
        return pa.StructArray.from_arrays([field(rows) for field in fields], fields=list(target))

    return column


def _steps(length: int) -> NDArray[np.uint64]:
    return np.arange(length, dtype=np.uint64)


def _offsets(rows: int, length: int) -> Any:
    return pa.array(np.arange(rows + 1, dtype=np.int32) * length)
