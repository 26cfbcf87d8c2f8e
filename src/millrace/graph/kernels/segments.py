"""Segments: runs of consecutive entries of an array, one per vertex."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from millrace.state.columns.multi_index import ranges

Array = npt.NDArray[Any]
Reduction = Literal["sum", "min", "max"]
_REDUCE: dict[Reduction, np.ufunc] = {"sum": np.add, "min": np.minimum, "max": np.maximum}


def offsets_of(counts: Array) -> npt.NDArray[np.int64]:
    """Starts of segments with the given lengths, and the end of the last one."""
    offsets = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=offsets[1:])
    return offsets


def entries(offsets: Array, segments: Array) -> tuple[npt.NDArray[np.int64], Array]:
    """Indexes of the entries of some segments, one segment after the other, and the number of
    entries of each.

    >>> entries(np.array([0, 2, 2, 5]), np.array([2, 0]))[0].tolist()
    [2, 3, 4, 0, 1]
    """
    counts = offsets[segments + 1] - offsets[segments]
    return ranges(offsets[segments], counts), counts


def runs(sorted_keys: Array) -> npt.NDArray[np.int64]:
    """Start of each run of equal keys."""
    if not len(sorted_keys):
        return np.zeros(0, dtype=np.int64)
    is_first = np.empty(len(sorted_keys), dtype=bool)
    is_first[0] = True
    np.not_equal(sorted_keys[1:], sorted_keys[:-1], out=is_first[1:])
    return np.flatnonzero(is_first)


def combined(keys: Array, values: Array, reduction: Reduction) -> tuple[Array, Array]:
    """Distinct keys in order, each with its values combined."""
    order = np.argsort(keys, kind="stable")
    keys, values = keys[order], values[order]
    starts = runs(keys)
    if not len(starts):
        return keys, values
    return keys[starts], np.asarray(_REDUCE[reduction].reduceat(values, starts))


def first_of_greatest(segments: Array, sizes: Array, labels: Array) -> tuple[Array, Array, Array]:
    """For each segment, the greatest size, and the greatest label with this size.

    Args:
        segments: ascending, with repetitions.

    Returns:
        distinct segments, their sizes, their labels.
    """
    starts = runs(segments)
    if not len(starts):
        return segments, sizes, labels
    lengths = np.diff(np.append(starts, len(segments)))
    greatest: npt.NDArray[Any] = np.maximum.reduceat(sizes, starts)
    is_greatest = sizes == np.repeat(greatest, lengths)
    least = np.iinfo(np.int64).min
    best = np.maximum.reduceat(np.where(is_greatest, labels, least), starts)
    return segments[starts], greatest, best
