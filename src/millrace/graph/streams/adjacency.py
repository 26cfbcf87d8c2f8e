"""Entries by node, such as the edges at each vertex, in one NumPy array. Entries are added and
removed in batches."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from millrace.state.columns.hash_index import Positions, distinct
from millrace.state.columns.multi_index import MultiIndex

__all__ = ["Adjacency"]

_Integers = npt.NDArray[np.int64]


class Adjacency:
    """Some numbers for each node, in a `MultiIndex` from which single entries can be removed.

    Example:
        >>> edges = Adjacency()
        >>> edges.add(np.array([0, 2, 0]), np.array([10, 11, 12]))
        >>> rows, found = edges.of(np.array([2, 0]))
        >>> rows.tolist(), found.tolist()
        ([0, 1, 1], [11, 10, 12])
        >>> edges.remove(np.array([0]), np.array([10]))
        >>> edges.of(np.array([0]))[1].tolist()
        [12]
    """

    def __init__(self) -> None:
        self._index = MultiIndex()

    def lengths(self, nodes: Positions) -> _Integers:
        """Number of entries of each node."""
        return self._index.counts(nodes)

    def of(self, nodes: Positions) -> tuple[_Integers, _Integers]:
        """All entries of some nodes: for each entry, the index of its node in ``nodes``, and the
        entry.
        """
        return self._owners(nodes), self._index.rows(nodes)

    def add(self, nodes: Positions, entries: Positions) -> None:
        """Add an entry to each node; a node may occur repeatedly."""
        self._index.add(nodes, entries)

    def remove(self, nodes: Positions, entries: Positions) -> None:
        """Remove entries of nodes. The time grows with the number of all entries of these nodes."""
        nodes_once = distinct(nodes)
        owners, index = self._owners(nodes_once), np.searchsorted(nodes_once, nodes)
        # an entry is an edge, which may be at both of its ends: the pair tells them apart
        self._index.purge(nodes_once, lambda held: ~_pairs_in(owners, held, index, entries))

    def _owners(self, nodes: Positions) -> _Integers:
        """Index in ``nodes`` of each of their entries."""
        return np.repeat(np.arange(nodes.size), self.lengths(nodes))


def _pairs_in(
    rows: _Integers, entries: _Integers, of_rows: _Integers, of_entries: _Integers
) -> npt.NDArray[np.bool_]:
    """Mask of the pairs (row, entry) that are among others."""
    mask = np.isin(entries, of_entries)
    places = np.flatnonzero(mask)  # few, as a rule
    if places.size:
        most = int(of_entries.max()) + 1
        pairs = rows.take(places) * most + entries.take(places)
        mask[places] = np.isin(pairs, of_rows * most + of_entries)
    return mask
