"""Accumulators of sliding windows, merged from the accumulators of their panes.

A firing costs about four merges per key, however many panes a window has. Panes before a boundary
are merged from each pane up to the boundary; panes after it are merged from the boundary on (the
two-stack technique of sliding aggregation: Tangwongsan et al., "Low-Latency Sliding-Window
Aggregation", DEBS 2017). Of the panes before the boundary, one in every block is kept, and all of
one block, so memory grows with the square root of their number.

The merged accumulators are derived from the panes, and computed again after a restore.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isqrt
from typing import Any

from millrace.runtime.detached import are_immutable, detached

Merged = dict[Any, Any]
"""Accumulator of several panes, per key."""
Merge = Callable[[Any, Any], Any]


class SlidingAggregates:
    """Merges the panes of successive windows. Each pane is merged only a few times."""

    def __init__(self, panes: Callable[[int], Merged], step: int, slide: int, merge: Merge) -> None:
        self._panes = panes
        """Function from the start of a pane to its accumulators."""
        self._step = step
        self._slide = slide
        self._merge = merge
        self._mutable = False
        self.forget()

    def forget(self) -> None:
        """Drop all merged panes, after the panes have changed."""
        self._before: dict[int, Merged] = {}
        """Merged panes from a start to the boundary, by start of a pane before the boundary."""
        self._behind: Merged = {}
        """Merged panes from the boundary to `_end`."""
        self._first = self._boundary = self._end = 0

    def window(self, start: int, end: int) -> Merged:
        """For each key, the accumulator of all panes from ``start`` to ``end``. The caller must not
        change the result, which is valid until the next call. Windows must be requested in the
        order of time.
        """
        if not self._first <= start < self._boundary:
            self._move_boundary(start, end)
        elif start not in self._before:
            self._fill(start)
        for pane in range(self._end, end, self._step):
            self._append(self._panes(pane))
        self._first, self._end = start, end
        for old in [pane for pane in self._before if pane < start]:
            del self._before[old]
        return self._joined(self._before[start], self._behind)

    def repair(self, keys: list[Any], starts: list[int]) -> None:
        """Merge panes again for some keys, because records were added to panes that may already be
        merged.
        """
        if self._first == self._boundary:
            return
        late = {(key, start) for key, start in zip(keys, starts, strict=True) if start < self._end}
        last: dict[Any, int] = {}
        for key, start in late:
            if start >= self._boundary:
                self._repair_behind(key)
            else:
                last[key] = max(start, last.get(key, start))
        bounds = [*sorted(self._before), self._boundary]
        for key, start in last.items():
            self._repair_before(key, start, bounds)

    # -- the panes before the boundary -------------------------------------------------------------

    def _move_boundary(self, start: int, end: int) -> None:
        self._before, self._behind = {}, {}
        self._boundary = self._end = end
        panes = range(start, end, self._step)
        block = isqrt(len(panes))
        merged: Merged = {}
        for number in reversed(range(len(panes))):
            self._prepend(self._panes(panes[number]), merged)
            if number % block == 0:
                self._before[panes[number]] = self._copied(merged)

    def _fill(self, start: int) -> None:
        """Merge the panes from ``start`` up to the next merged result that is kept, and keep the
        results for the windows in between."""
        following = min((pane for pane in self._before if pane > start), default=self._boundary)
        merged = self._copied(self._before.get(following, {}))
        for pane in range(following - self._step, start - 1, -self._step):
            self._prepend(self._panes(pane), merged)
            if (pane - start) % self._slide == 0:
                self._before[pane] = self._copied(merged)

    def _repair_before(self, key: Any, last: int, bounds: list[int]) -> None:
        for position in reversed(range(len(bounds) - 1)):
            start, following = bounds[position], bounds[position + 1]
            if start <= last:
                parts = [self._panes(pane) for pane in range(start, following, self._step)]
                parts.append(self._before.get(following, {}))
                self._fold(key, parts, self._before[start])

    # -- the panes behind it -----------------------------------------------------------------------

    def _append(self, later: Merged) -> None:
        merge, behind = self._merging(later), self._behind
        for key, accumulator in later.items():
            behind[key] = merge(behind[key], accumulator) if key in behind else accumulator

    def _repair_behind(self, key: Any) -> None:
        panes = range(self._boundary, self._end, self._step)
        self._fold(key, [self._panes(pane) for pane in panes], self._behind)

    # -- merging -----------------------------------------------------------------------------------

    def _fold(self, key: Any, parts: list[Merged], into: Merged) -> None:
        accumulators = [part[key] for part in parts if key in part]
        if not accumulators:
            return
        merge = self._merging(dict(enumerate(accumulators)))
        total = accumulators[0]
        for accumulator in accumulators[1:]:
            total = merge(total, accumulator)
        into[key] = total

    def _prepend(self, earlier: Merged, merged: Merged) -> None:
        merge = self._merging(earlier)
        for key, accumulator in earlier.items():
            merged[key] = merge(accumulator, merged[key]) if key in merged else accumulator

    def _joined(self, first: Merged, second: Merged) -> Merged:
        if not first or not second:
            return first or second
        merge = self._merging(second)
        joined = dict(first)
        for key, accumulator in second.items():
            joined[key] = merge(joined[key], accumulator) if key in joined else accumulator
        return joined

    def _copied(self, merged: Merged) -> Merged:
        self._merging(merged)
        return dict(merged)

    def _merging(self, part: Merged) -> Merge:
        """Merge function to use with the accumulators of ``part``: one that copies its arguments
        if any accumulator is mutable."""
        if not self._mutable:
            self._mutable = not are_immutable(list(part.values()))
        return self._merge_copies if self._mutable else self._merge

    def _merge_copies(self, first: Any, second: Any) -> Any:
        """Merge copies of two accumulators. A user's merge may change its arguments, which are
        still in use."""
        return self._merge(detached(first), detached(second))
