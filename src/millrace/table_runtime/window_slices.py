"""`WindowSlices`: windows as runs of non-overlapping slices, computed for whole columns of times.

A row belongs to one slice, whatever the number of its windows. A window's result is merged from its
slices when the window fires. Slices and windows are identified by their ends, in ms. Flink:
``SliceAssigner``.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

import numpy as np
import numpy.typing as npt

__all__ = ["Times", "WindowSlices"]

Times = npt.NDArray[np.int64]


@dataclass(frozen=True)
class WindowSlices:
    """TUMBLE, HOP or CUMULATE windows.

    Attributes:
        size: size of a window; for CUMULATE the greatest size.
        slide: distance between the ends of windows: for TUMBLE the size, for CUMULATE the step.
        offset: offset of the windows from 1970.
        cumulates: whether windows begin with a multiple of ``size`` and only grow.

    Example:
        >>> hop = WindowSlices(size=10, slide=5)
        >>> hop.slice_ends(np.array([3, 5, 12])).tolist()
        [5, 10, 15]
        >>> hop.last_ends(np.array([5, 10])).tolist()
        [10, 15]
    """

    size: int
    slide: int
    offset: int = 0
    cumulates: bool = False

    @property
    def step(self) -> int:
        """Size of a slice."""
        return self.slide if self.cumulates else gcd(self.size, self.slide)

    @property
    def most(self) -> int:
        """Maximum number of windows that share a slice."""
        return -(-self.size // self.slide)

    def slice_ends(self, times: Times) -> Times:
        """Ends of the slices that contain the times."""
        return self._floor(times, self.step) + self.step

    def first_ends(self, slices: Times) -> Times:
        """End of the first window with a slice, given the slice's end."""
        return self._floor(slices + self.slide - 1, self.slide)

    def last_ends(self, slices: Times) -> Times:
        """End of the last window with a slice, given the slice's end. If no window has the slice
        (HOP with gaps), it is before `first_ends`."""
        if self.cumulates:
            return self._floor(slices - 1, self.size) + self.size
        return self._floor(slices - self.step + self.size, self.slide)

    def starts(self, ends: Times) -> Times:
        """Starts of windows, given their ends."""
        return self._floor(ends - 1, self.size) if self.cumulates else ends - self.size

    def _floor(self, times: Times, unit: int) -> Times:
        return times - (times - self.offset) % unit
