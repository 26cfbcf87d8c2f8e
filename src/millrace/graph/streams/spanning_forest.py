"""Spanning forests in NumPy: of a set of edges, and of a graph whose edges come and go."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from millrace.state.columns.growable_columns import grown
from millrace.state.columns.hash_index import Positions

__all__ = ["SpanningForest", "spanning"]

_NONE = np.zeros(0, np.int64)


def spanning(x: Positions, y: Positions, nodes: int) -> tuple[Positions, Positions]:
    """Numbers of edges that form a spanning forest, and the root of each node's tree.

    Earlier edges have priority: if some of the first edges form a forest, all of them are chosen.
    Borůvka's algorithm: in each round every tree takes its first edge to another tree.

    >>> edges, roots = spanning(np.array([0, 1, 0, 3]), np.array([1, 2, 2, 4]), 5)
    >>> edges.tolist(), [int(root) for root in roots]
    ([0, 1, 3], [0, 0, 0, 3, 3])
    """
    root = np.arange(nodes)
    numbers = np.flatnonzero(x != y)
    x, y = x.take(numbers), y.take(numbers)
    chosen = [_NONE]
    while numbers.size:
        first = np.full(nodes, -1)
        # of several edges of a tree the one that is written last stays
        backwards = np.arange(numbers.size - 1, -1, -1)
        ends = np.empty(2 * numbers.size, np.int64)
        ends[::2], ends[1::2] = x.take(backwards), y.take(backwards)
        first[ends] = np.repeat(backwards, 2)
        trees = np.flatnonzero(first >= 0)
        edges = first.take(trees)
        hook = np.arange(nodes)
        hook[trees] = x.take(edges) + y.take(edges) - trees
        mutual = trees[(hook.take(hook.take(trees)) == trees) & (trees < hook.take(trees))]
        hook[mutual] = mutual
        taken = np.zeros(numbers.size, np.bool_)
        taken[edges] = True
        chosen.append(numbers[taken])
        hook = _roots(hook)
        root = hook.take(root)
        x, y = hook.take(x), hook.take(y)
        apart = x != y
        x, y, numbers = x[apart], y[apart], numbers[apart]
    return np.sort(np.concatenate(chosen)), root


def _roots(hook: Positions) -> Positions:
    while True:
        further = hook.take(hook)
        if np.array_equal(further, hook):
            return hook
        hook = further


class SpanningForest:
    """Spanning forest of a graph whose edges come and go. Edges have numbers that the caller
    chooses, nodes are numbered from 0.

    Attributes:
        label: number of each node's tree.

    Example:
        >>> forest = SpanningForest()
        >>> forest.set_ends(np.arange(3), np.array([0, 1, 0]), np.array([1, 2, 2]))
        >>> forest.link(np.arange(3)).tolist()
        [0, 1]
        >>> forest.cut(np.array([0]))
        True
        >>> [each.tolist() for each in forest.repair(np.array([1, 2]))]
        [[2], []]
    """

    def __init__(self) -> None:
        self.label: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        self._x: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        self._y: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        self._in_tree = np.zeros(0, np.bool_)

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return int(self.label.size)

    def set_ends(self, edges: Positions, x: Positions, y: Positions) -> None:
        """Set the ends of edges, before they are added."""
        if not edges.size:
            return
        end = int(edges.max()) + 1
        if end > self._x.size:
            self._x, self._y = grown(self._x, end), grown(self._y, end)
            self._in_tree = grown(self._in_tree, end)
        self._x[edges], self._y[edges] = x, y
        self.reach(int(max(x.max(), y.max())) + 1)

    def reach(self, nodes: int) -> None:
        """Grow to at least this number of nodes."""
        if nodes > self.nodes:
            self.label = np.concatenate([self.label, np.arange(self.nodes, nodes)])

    def is_in_tree(self, edges: Positions) -> npt.NDArray[np.bool_]:
        """Whether edges are in the forest."""
        return self._in_tree.take(edges)

    def link(self, edges: Positions) -> Positions:
        """Join trees by edges. Returns the edges that are part of the forest now."""
        x, y = self.label.take(self._x.take(edges)), self.label.take(self._y.take(edges))
        apart = np.flatnonzero(x != y)
        if not apart.size:
            return _NONE
        trees, ends = np.unique(np.concatenate([x.take(apart), y.take(apart)]), return_inverse=True)
        ends = ends.reshape(-1)
        chosen, roots = spanning(ends[: apart.size], ends[apart.size :], trees.size)
        renamed = np.arange(self.nodes)
        renamed[trees] = trees.take(roots)
        self.label = renamed.take(self.label)
        joined = edges.take(apart.take(chosen))
        self._in_tree[joined] = True
        return joined

    def cut(self, edges: Positions) -> bool:
        """Remove edges; returns whether any of them was in the forest. `repair` must follow."""
        was_in_tree = self._in_tree.take(edges)
        self._in_tree[edges] = False
        return bool(was_in_tree.any())

    def repair(self, edges: Positions) -> tuple[Positions, Positions]:
        """Rebuild the forest from its own edges, and from others of all ``edges``.

        Returns:
            The edges that are in the forest now and were not, and those that no longer are.
        """
        had = edges[self._in_tree.take(edges)]
        chosen, roots = spanning(self._x.take(had), self._y.take(had), self.nodes)
        self.label = roots
        kept = had.take(chosen)
        self._in_tree[had] = False
        self._in_tree[kept] = True
        left = had[~self._in_tree.take(had)]
        return self.link(edges), left

    def assume(self, edges: Positions) -> None:
        """Use the given edges as the forest until `repair` is called, although they may contain
        cycles."""
        self._in_tree[edges] = True
