"""Counts the structures in msgpack bytes before they are decoded, because a single byte may
encode a whole list."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

__all__ = ["binary_buffers", "structures_in"]

_AT_ONCE = 1 << 20
_BEGINS = np.zeros(256, bool)
"""Whether a list, a map or something unknown begins with a byte, by byte."""
_BEGINS[0x80:0xA0] = _BEGINS[0xC1] = _BEGINS[0xC7:0xCA] = _BEGINS[0xD4:0xD9] = True
_BEGINS[0xDC:0xE0] = True


def structures_in(data: np.ndarray[Any, np.dtype[np.uint8]]) -> int:
    """Upper bound for the number of lists and maps in msgpack bytes. The bytes of texts may be
    counted, too, so the bound can be too high.

    >>> structures_in(np.frombuffer(bytes([0x92, 0x90, 0x90]), np.uint8))
    3
    """
    parts = range(0, len(data), _AT_ONCE)
    return sum(int(np.count_nonzero(_BEGINS[data[at : at + _AT_ONCE]])) for at in parts)


def binary_buffers(columns: Iterable[Any]) -> Iterator[np.ndarray[Any, np.dtype[np.uint8]]]:
    """Bytes of all binary values in Arrow arrays, at every depth."""
    for column in columns:
        for array in column.chunks if isinstance(column, pa.ChunkedArray) else (column,):
            yield from _buffers(array)


def _buffers(array: Any) -> Iterator[np.ndarray[Any, np.dtype[np.uint8]]]:
    kind = array.type
    if pa.types.is_large_binary(kind):
        if array.null_count < len(array):
            _, offsets, data = array.buffers()
            ends = np.frombuffer(offsets, np.int64)
            first, last = ends[array.offset], ends[array.offset + len(array)]
            if last > first:
                yield np.frombuffer(data, np.uint8)[first:last]
    elif pa.types.is_struct(kind):
        yield from binary_buffers(array.flatten())
    elif pa.types.is_map(kind):
        first, last = (array.offsets[place].as_py() for place in (0, -1))
        yield from binary_buffers((array.keys[first:last], array.items[first:last]))
    elif pa.types.is_large_list(kind):
        yield from binary_buffers((array.flatten(),))
