"""Accumulators of BITMAP_BUILD_AGG, BITMAP_AND_AGG, BITMAP_OR_AGG and BITMAP_XOR_AGG, and of the
functions that return their cardinality."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from millrace.common.types.bitmaps import bitmap_class, written_bitmap
from millrace.common.types.logical import logical_type as logical
from millrace.common.types.logical.logical_type import LogicalType
from millrace.expressions.aggregates.accumulator import ColumnAccumulator, Columns, Signs, Slots
from millrace.expressions.bitmap_values import bitmap_of
from millrace.expressions.evaluation_error import EvaluationError
from millrace.expressions.functions.bitmaps import MOST_ELEMENTS

if TYPE_CHECKING:
    from pyroaring import BitMap

__all__ = ["BitmapAccumulator", "CountedBitmapAccumulator", "XorBitmapAccumulator"]


class _Bitmaps(ColumnAccumulator):
    """An aggregate of bitmaps. Numbers count as bitmaps with one element.

    A group is bytes, replaced by others when a batch has rows of it: what an aborted epoch goes
    back to is then the old bytes.
    """

    def __init__(self, argument_types: tuple[LogicalType, ...], result_type: LogicalType) -> None:
        super().__init__(argument_types, result_type)
        self._builds = isinstance(argument_types[0], logical.IntegralType)
        self._counts = isinstance(result_type, logical.BigIntType)

    def _groups(
        self, slots: Slots, values: pa.Array, signs: Signs
    ) -> Iterator[tuple[int, pa.Array, NDArray[np.int64]]]:
        """Slots with their values other than NULL, and the signs of these values."""
        if self._builds:
            values = values.cast(pa.int32())
        weights = np.ones(len(slots), np.int64) if signs is None else signs.astype(np.int64)
        if values.null_count:
            valid = pc.is_valid(values).to_numpy(zero_copy_only=False)
            slots, weights, values = slots[valid], weights[valid], values.drop_null()
        if not len(slots):
            return
        order = np.argsort(slots, kind="stable")
        ordered, values, weights = slots[order], values.take(pa.array(order)), weights[order]
        starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
        ends = [*starts[1:].tolist(), len(ordered)]
        for start, end in zip(starts.tolist(), ends, strict=True):
            yield int(ordered[start]), values.slice(start, end - start), weights[start:end]

    def _made(self, bitmaps: list[BitMap | None]) -> pa.Array:
        if self._counts:
            return pa.array([None if b is None else len(b) for b in bitmaps], self.arrow)
        return pa.array([None if b is None else written_bitmap(b) for b in bitmaps], self.arrow)

    @staticmethod
    def _held(held: bytes | None) -> BitMap | None:
        return None if held is None else bitmap_of(held)


class _JoinedBitmaps(_Bitmaps):
    """Base of the accumulators for AND, OR and BUILD.

    Args:
        argument_types: BITMAP, or INT of BUILD.
        result_type: BITMAP, or BIGINT: the number of elements.
        intersection: AND rather than OR.
    """

    def __init__(
        self,
        argument_types: tuple[LogicalType, ...],
        result_type: LogicalType,
        intersection: bool,
    ) -> None:
        super().__init__(argument_types, result_type)
        self._intersection = intersection


class BitmapAccumulator(_JoinedBitmaps):
    """AND, OR and BUILD over rows that are never retracted. The column holds the bitmap, or None if
    there are no rows.
    """

    retracts = False

    def columns(self) -> tuple[np.dtype[Any], ...]:
        return (np.dtype(object),)

    def accumulate(
        self, slots: Slots, columns: Columns, arguments: list[pa.Array], signs: Signs = None
    ) -> None:
        for slot, values, _ in self._groups(slots, arguments[0], signs):
            bitmaps = [self._built(values)] if self._builds else map(bitmap_of, values.to_pylist())
            self._join(columns[0], slot, list(bitmaps))

    @staticmethod
    def _built(values: pa.Array) -> BitMap:
        return bitmap_class()(np.unique(values.to_numpy().view(np.uint32)).tolist())

    def _join(self, held: NDArray[Any], slot: int, bitmaps: list[BitMap]) -> None:
        before = self._held(held[slot])
        parts = bitmaps if before is None else [before, *bitmaps]
        kind = bitmap_class()
        made = kind.intersection(*parts) if self._intersection else kind.union(*parts)
        held[slot] = written_bitmap(made)

    def merge(self, slots: Slots, columns: Columns, other_slots: Slots, others: Columns) -> None:
        for slot, other in zip(slots.tolist(), others[0][other_slots].tolist(), strict=True):
            if other is not None:
                self._join(columns[0], slot, [bitmap_of(other)])

    def value(self, slots: Slots, columns: Columns) -> pa.Array:
        return self._made([self._held(held) for held in columns[0][slots].tolist()])


class XorBitmapAccumulator(_Bitmaps):
    """XOR: to retract a bitmap, it is XORed once more. The columns hold the bitmap and the number
    of rows.
    """

    def columns(self) -> tuple[np.dtype[Any], ...]:
        return np.dtype(object), np.dtype(np.int64)

    def accumulate(
        self, slots: Slots, columns: Columns, arguments: list[pa.Array], signs: Signs = None
    ) -> None:
        for slot, values, weights in self._groups(slots, arguments[0], signs):
            self._toggle(columns[0], slot, list(map(bitmap_of, values.to_pylist())))
            columns[1][slot] += weights.sum()

    def _toggle(self, held: NDArray[Any], slot: int, bitmaps: list[BitMap]) -> None:
        before = self._held(held[slot])
        made = bitmap_class()() if before is None else before
        for bitmap in bitmaps:
            made ^= bitmap
        held[slot] = written_bitmap(made)

    def merge(self, slots: Slots, columns: Columns, other_slots: Slots, others: Columns) -> None:
        for slot, other in zip(slots.tolist(), other_slots.tolist(), strict=True):
            if others[0][other] is not None:
                self._toggle(columns[0], slot, [bitmap_of(others[0][other])])
                columns[1][slot] += others[1][other]

    def value(self, slots: Slots, columns: Columns) -> pa.Array:
        pairs = zip(columns[0][slots].tolist(), columns[1][slots].tolist(), strict=True)
        return self._made([self._held(raw) if count else None for raw, count in pairs])


class CountedBitmapAccumulator(_JoinedBitmaps):
    """AND, OR and BUILD over rows that may be retracted. The columns hold the numbers in order, the
    count of each number, and the number of rows. Flink: ``BitmapAndWithRetractAggFunction`` and
    similar classes.
    """

    def columns(self) -> tuple[np.dtype[Any], ...]:
        return np.dtype(object), np.dtype(object), np.dtype(np.int64)

    def accumulate(
        self, slots: Slots, columns: Columns, arguments: list[pa.Array], signs: Signs = None
    ) -> None:
        for slot, values, weights in self._groups(slots, arguments[0], signs):
            numbers, counts = self._numbers(values, weights)
            self._add(columns, slot, numbers, counts, int(weights.sum()))

    def _numbers(
        self, values: pa.Array, weights: NDArray[np.int64]
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        if self._builds:
            return values.to_numpy().view(np.uint32), weights
        bitmaps = list(map(bitmap_of, values.to_pylist()))
        sizes = list(map(len, bitmaps))
        if sum(sizes) > MOST_ELEMENTS:
            raise EvaluationError(
                f"bitmaps of {sum(sizes)} numbers are too large for rows that may be retracted, "
                f"for which each number is counted: the maximum is {MOST_ELEMENTS}"
            )
        numbers = [np.asarray(bitmap.to_array(), np.uint32) for bitmap in bitmaps]
        return np.concatenate(numbers), np.repeat(weights, sizes)

    @staticmethod
    def _add(
        columns: Columns,
        slot: int,
        numbers: NDArray[np.uint32],
        counts: NDArray[np.int64],
        rows: int,
    ) -> None:
        held = columns[0][slot]
        if held is not None:
            numbers = np.concatenate([np.frombuffer(held, np.uint32), numbers])
            counts = np.concatenate([np.frombuffer(columns[1][slot], np.int64), counts])
        different, places = np.unique(numbers, return_inverse=True)
        sums = np.zeros(len(different), np.int64)
        np.add.at(sums, places, counts)
        kept = sums != 0
        columns[0][slot], columns[1][slot] = different[kept].tobytes(), sums[kept].tobytes()
        columns[2][slot] += rows

    def merge(self, slots: Slots, columns: Columns, other_slots: Slots, others: Columns) -> None:
        for slot, other in zip(slots.tolist(), other_slots.tolist(), strict=True):
            if others[0][other] is not None:
                numbers = np.frombuffer(others[0][other], np.uint32)
                counts = np.frombuffer(others[1][other], np.int64)
                self._add(columns, slot, numbers, counts, int(others[2][other]))

    def value(self, slots: Slots, columns: Columns) -> pa.Array:
        return self._made([self._bitmap(columns, slot) for slot in slots.tolist()])

    def _bitmap(self, columns: Columns, slot: int) -> BitMap | None:
        rows = int(columns[2][slot])
        if not rows or columns[0][slot] is None:
            return None
        numbers = np.frombuffer(columns[0][slot], np.uint32)
        counts = np.frombuffer(columns[1][slot], np.int64)
        there = counts >= rows if self._intersection else counts > 0
        return bitmap_class()(numbers[there].tolist())
