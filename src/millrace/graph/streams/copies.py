"""Numbers of copies of edges after each change of a batch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from millrace.runtime.stable_groups import StableGroups, running
from millrace.state.columns.hash_index import Positions

__all__ = ["CopyCounts", "count_both_ways", "counted"]

_Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class CopyCounts:
    """Numbers of copies of each row's edge before and after the row, for a batch of changes.

    Attributes:
        before: number of copies of the row's edge before the row.
        after: number of copies after it.
    """

    before: _Integers
    after: _Integers

    @property
    def counts(self) -> npt.NDArray[np.bool_]:
        """Mask of the rows that have an effect. The removal of a missing edge has no effect."""
        counts: npt.NDArray[np.bool_] = self.before != self.after
        return counts


def counted(slots: Positions, change: _Integers, copies: _Integers) -> CopyCounts:
    """Count the copies of edges in the order of the rows, and set the numbers in ``copies``.

    Args:
        slots: slot of each row's edge.
        change: 1 or -1 for each row.
        copies: number of copies by slot, which is changed.

    >>> copies = np.array([0, 1])
    >>> found = counted(np.array([0, 1, 0, 0]), np.array([-1, -1, 1, 1]), copies)
    >>> found.counts.tolist(), copies.tolist()
    ([False, True, True, True], [2, 0])
    """
    groups = StableGroups.of(slots)
    firsts = groups.order.take(groups.starts)
    begin = copies.take(slots.take(firsts))
    sums = running(np.add, groups, begin, change)
    if change.size and change.min() < 0 and sums.min() < 0:
        lowest = running(np.minimum, groups, np.zeros_like(begin), sums)
        after = sums - lowest
    else:
        after = sums
    arranged = after.take(groups.order)
    shifted = np.empty_like(arranged)
    shifted[1:] = arranged[:-1]
    shifted[groups.starts] = begin
    before = np.empty_like(shifted)
    before[groups.order] = shifted
    last = groups.last
    copies[slots.take(last)] = after.take(last)
    return CopyCounts(before, after)


def count_both_ways(
    slots: Positions,
    change: _Integers,
    flipped: npt.NDArray[np.bool_],
    forward: _Integers,
    backward: _Integers,
) -> None:
    """Count separately the copies of edges from the lesser vertex to the other one, and of edges in
    the opposite direction.

    Args:
        slots: slot of each row's pair of vertices.
        change: 1 or -1 for each row.
        flipped: whether each row's edge leads back.
        forward, backward: numbers of copies by slot, which are changed.
    """
    for copies, rows in ((forward, ~flipped), (backward, flipped)):
        if rows.any():
            counted(slots[rows], change[rows], copies)
