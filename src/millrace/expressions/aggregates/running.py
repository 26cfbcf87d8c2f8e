"""Running values of whole columns: an accumulator's value after each of many rows.

Rows of a group are together, groups one after the other; ``begins`` are the places of their first
rows, and ``carry`` is what each group had before.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["running_sum", "running_ufunc", "valid_so_far"]

Begins = NDArray[np.int64]
_SMALL = 32
"""Groups of up to so many rows are done row by row, all groups at a time; larger ones one by one.
"""


def running_sum(values: NDArray[np.int64], begins: Begins, carry: NDArray[np.int64]) -> Any:
    """Running sums of integers, which wrap on overflow.

    Example:
        >>> running_sum(np.array([1, 2, 3]), np.array([0, 2]), np.array([10, 0])).tolist()
        [11, 13, 3]
    """
    with np.errstate(over="ignore"):
        sums = np.cumsum(values, dtype=np.int64)
        before = carry - sums[begins] + values[begins]
        return sums + np.repeat(before, np.diff(begins, append=values.size))


def running_ufunc(ufunc: Any, values: NDArray[Any], begins: Begins) -> NDArray[Any]:
    """Running result of a function of two numbers within each group, from left to right.

    Example:
        >>> running_ufunc(np.maximum, np.array([1, 3, 2, 1]), np.array([0, 3])).tolist()
        [1, 3, 3, 1]
    """
    result = values.copy()
    sizes = np.diff(begins, append=values.size)
    large = sizes > _SMALL
    for begin, size in zip(begins[large].tolist(), sizes[large].tolist(), strict=True):
        ufunc.accumulate(values[begin : begin + size], out=result[begin : begin + size])
    starts, sizes = begins[~large], sizes[~large]
    for step in range(1, int(sizes.max(initial=0))):
        rows = starts[sizes > step] + step
        result[rows] = ufunc(result[rows - 1], values[rows])
    return result


def valid_so_far(valid: NDArray[np.bool_], begins: Begins) -> NDArray[np.int64]:
    """For each row, the position of the last valid row of its group so far; -1 if there is none.

    Example:
        >>> valid_so_far(np.array([True, False, False]), np.array([0, 2])).tolist()
        [0, 0, -1]
    """
    places = np.maximum.accumulate(np.where(valid, np.arange(valid.size), -1))
    first = np.repeat(begins, np.diff(begins, append=valid.size))
    return np.where(places < first, -1, places)
