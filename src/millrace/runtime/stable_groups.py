"""Rows grouped by slot, with running values within each group. A group keeps the order of
arrival."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from millrace.state.columns.hash_index import Positions

__all__ = ["StableGroups", "running"]

_FEW = 64
"""Minimum number of groups that are processed together, one row each at a time."""


@dataclass(frozen=True)
class StableGroups:
    """Rows ordered by slot. Rows of one slot keep their order of arrival.

    Attributes:
        order: numbers of the rows.
        starts: position in the order at which each group begins.
        lengths: lengths of the groups.
    """

    order: npt.NDArray[np.int64]
    starts: npt.NDArray[np.int64]
    lengths: npt.NDArray[np.int64]

    @staticmethod
    def of(slots: Positions) -> StableGroups:
        """Groups of rows by slot.

        >>> groups = StableGroups.of(np.array([7, 3, 7]))
        >>> groups.order.tolist(), groups.starts.tolist()
        ([1, 0, 2], [0, 1])
        """
        order = _order(slots)
        arranged = slots.take(order)
        starts = np.flatnonzero(np.concatenate([[True], arranged[1:] != arranged[:-1]]))
        return StableGroups(order, starts, np.diff(np.append(starts, slots.size)))

    @property
    def last(self) -> npt.NDArray[np.int64]:
        """Number of the last row of each group."""
        return self.order.take(self.starts + self.lengths - 1)


def running(
    ufunc: np.ufunc, groups: StableGroups, begin: npt.NDArray[Any], values: npt.NDArray[Any]
) -> npt.NDArray[Any]:
    """For each row, the running value of its group after this row.

    Args:
        ufunc: function that combines a group's value with the next value.
        begin: value of each group before its first row.
        values: values of the rows.
    """
    arranged = values.take(groups.order)
    starts = groups.starts
    if ufunc is np.add and arranged.dtype.kind in "iu":  # exact, even where it wraps around
        sums = np.cumsum(arranged, dtype=arranged.dtype)
        sums += np.repeat(begin - sums.take(starts) + arranged.take(starts), groups.lengths)
        arranged = sums
    else:
        arranged[starts] = ufunc(begin, arranged.take(starts))
        _continue(ufunc, arranged, starts, groups.lengths)
    unsorted = np.empty_like(arranged)
    unsorted[groups.order] = arranged
    return unsorted


def _continue(
    ufunc: np.ufunc,
    arranged: npt.NDArray[Any],
    starts: npt.NDArray[np.int64],
    lengths: npt.NDArray[np.int64],
) -> None:
    row = 1
    longer = lengths > row
    starts, lengths = starts[longer], lengths[longer]
    while starts.size >= _FEW:
        places = starts + row
        arranged[places] = ufunc(arranged.take(places - 1), arranged.take(places))
        row += 1
        longer = lengths > row
        starts, lengths = starts[longer], lengths[longer]
    for start, length in zip(starts.tolist(), lengths.tolist(), strict=True):
        part = arranged[start + row - 1 : start + length]
        part[:] = ufunc.accumulate(part)


def _order(slots: Positions) -> npt.NDArray[np.int64]:
    """Stable argsort of the slots. NumPy sorts 16-bit numbers with radix sort, several times as
    fast as wider ones."""
    if not slots.size or int(slots.max()) >> 32:
        return np.argsort(slots, kind="stable")
    order = np.argsort(slots.astype(np.uint16), kind="stable")
    high = (slots >> 16).astype(np.uint16)
    if high.any():
        order = order.take(np.argsort(high.take(order), kind="stable"))
    return order
