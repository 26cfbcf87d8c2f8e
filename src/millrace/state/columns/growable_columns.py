"""Growable columns of Arrow values by position, for the keys and rows of columnar state.

A position is set once, and may be set again after its value was freed. Fixed-width values are in
NumPy arrays. Texts and bytes are appended to one buffer; when more than half of it is freed values,
the buffer is written anew without them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millrace.state.columns.fingerprints import is_exact, validity
from millrace.state.columns.hash_index import Positions

__all__ = ["GrowableColumn", "column_of", "grown"]

_MINIMUM = 1024
_SMALL_BUFFER = 1 << 16


class GrowableColumn(ABC):
    """Values of one Arrow type by position."""

    def __init__(self, kind: pa.DataType) -> None:
        self.type = kind

    @abstractmethod
    def set(self, positions: Positions, values: pa.Array) -> None:
        """Set the values of distinct positions."""

    @abstractmethod
    def take(self, positions: Positions) -> pa.Array:
        """Values at positions that have been set."""

    def free(self, positions: Positions) -> None:
        """Discard the values at the given positions."""


def column_of(kind: pa.DataType) -> GrowableColumn:
    """New empty column for values of a type."""
    if pa.types.is_null(kind):
        return NullColumn(kind)
    if is_exact(kind) or pa.types.is_decimal128(kind):
        return FixedColumn(kind)
    if kind in (pa.string(), pa.binary(), pa.large_string(), pa.large_binary()):
        return BytesColumn(kind)
    return ObjectColumn(kind)


def grown(array: npt.NDArray[Any], size: int) -> npt.NDArray[Any]:
    """The array with at least ``size`` elements; the new elements are 0."""
    if size <= array.shape[0]:
        return array
    longer = np.zeros((max(size, 2 * array.shape[0], _MINIMUM), *array.shape[1:]), array.dtype)
    longer[: array.shape[0]] = array
    return longer


class NullColumn(GrowableColumn):
    """Column of nulls."""

    def set(self, positions: Positions, values: pa.Array) -> None:
        pass

    def take(self, positions: Positions) -> pa.Array:
        return pa.nulls(positions.size, self.type)


class FixedColumn(GrowableColumn):
    """Values of 1, 2, 4, 8 or 16 bytes."""

    def __init__(self, kind: pa.DataType) -> None:
        super().__init__(kind)
        width = 8 if pa.types.is_boolean(kind) else kind.bit_width
        self._dtype = np.dtype("V16" if width == 128 else f"i{width // 8}")
        self._values = np.zeros(0, self._dtype)
        self._invalid: npt.NDArray[np.bool_] | None = None

    def set(self, positions: Positions, values: pa.Array) -> None:
        if not positions.size:
            return
        self._values = grown(self._values, int(positions.max()) + 1)
        if pa.types.is_boolean(self.type):
            values = values.cast(pa.int8())
        buffer = values.buffers()[1]
        offset = values.offset * self._dtype.itemsize
        self._values[positions] = np.frombuffer(buffer, self._dtype, len(values), offset)
        valid = validity(values)
        if valid is not None or self._invalid is not None:
            invalid = np.zeros(0, np.bool_) if self._invalid is None else self._invalid
            self._invalid = grown(invalid, self._values.size)
            self._invalid[positions] = False if valid is None else ~valid

    def take(self, positions: Positions) -> pa.Array:
        values = self._values.take(positions) if self._values.size else self._values
        invalid = None
        if self._invalid is not None and positions.size:
            invalid = grown(self._invalid, self._values.size).take(positions)
            invalid = invalid if invalid.any() else None
        if pa.types.is_boolean(self.type):
            return pa.array(values.astype(np.bool_), mask=invalid)
        bitmap = None
        if invalid is not None:
            bitmap = pa.py_buffer(np.packbits(~invalid, bitorder="little"))
        return pa.Array.from_buffers(self.type, positions.size, [bitmap, pa.py_buffer(values)])


class BytesColumn(GrowableColumn):
    """Texts and bytes, appended to one buffer."""

    def __init__(self, kind: pa.DataType) -> None:
        super().__init__(kind)
        self._large = pa.large_string() if kind in (pa.string(), pa.large_string()) else None
        self._large = self._large or pa.large_binary()
        self._place = np.zeros(0, np.int64)
        """Number of each position's value in the order of insertion; -1 for null."""
        self._offsets = np.zeros(_MINIMUM, np.int64)
        self._data = np.zeros(_SMALL_BUFFER, np.uint8)
        self._count = 0
        self._live = 0

    def set(self, positions: Positions, values: pa.Array) -> None:
        if not positions.size:
            return
        values = values.cast(self._large)
        size = int(positions.max()) + 1
        if size > self._place.size:
            before = self._place.size
            self._place = grown(self._place, size)
            self._place[before:] = -1
        self.free(positions)
        self._place[positions] = np.arange(self._count, self._count + positions.size)
        self._append(values)
        valid = validity(values)
        if valid is not None:
            self._place[positions[~valid]] = -1
        self._live += positions.size if valid is None else int(np.count_nonzero(valid))

    def take(self, positions: Positions) -> pa.Array:
        places = self._place.take(positions) if self._place.size else positions
        buffers = [None, pa.py_buffer(self._offsets), pa.py_buffer(self._data)]
        values = pa.Array.from_buffers(self._large, self._count, buffers)
        missing = places < 0
        wanted = pa.array(places, mask=missing) if missing.any() else pa.array(places)
        return values.take(wanted).cast(self.type)

    def free(self, positions: Positions) -> None:
        positions = positions[positions < self._place.size]
        self._live -= int(np.count_nonzero(self._place.take(positions) >= 0))
        self._place[positions] = -1
        if self._count > _MINIMUM and 2 * self._live < self._count:
            self._compact()

    def _append(self, values: pa.Array) -> None:
        _, offsets_buffer, data = values.buffers()
        offsets = np.frombuffer(offsets_buffer, np.int64, len(values) + 1, 8 * values.offset)
        low, size = int(offsets[0]), int(offsets[-1] - offsets[0])
        start, end = int(self._offsets[self._count]), self._count + len(values)
        self._offsets = grown(self._offsets, end + 1)
        self._offsets[self._count + 1 : end + 1] = offsets[1:] - (low - start)
        self._data = grown(self._data, start + size)
        if size:
            self._data[start : start + size] = np.frombuffer(data, np.uint8, size, low)
        self._count = end

    def _compact(self) -> None:
        positions = np.flatnonzero(self._place >= 0)
        values = self.take(positions).cast(self._large)
        self._offsets, self._data = np.zeros(_MINIMUM, np.int64), np.zeros(_SMALL_BUFFER, np.uint8)
        self._count = 0
        self._place[positions] = np.arange(positions.size)
        self._append(values)


class ObjectColumn(GrowableColumn):
    """Rows, arrays, maps and other nested values, each as a Python object."""

    def __init__(self, kind: pa.DataType) -> None:
        super().__init__(kind)
        self._values = np.zeros(0, np.object_)

    def set(self, positions: Positions, values: pa.Array) -> None:
        if positions.size:
            self._values = grown(self._values, int(positions.max()) + 1)
            made = np.empty(len(values), np.object_)
            made[:] = values.to_pylist()
            self._values[positions] = made

    def take(self, positions: Positions) -> pa.Array:
        taken = self._values.take(positions) if self._values.size else positions
        return pa.array(taken.tolist(), self.type)

    def free(self, positions: Positions) -> None:
        self._values[positions[positions < self._values.size]] = None
