"""Entries by node that come and go in batches: the edges at each vertex, in one NumPy array."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from millrace.state.columns.growable_columns import grown
from millrace.state.columns.hash_index import Positions, distinct

__all__ = ["Adjacency"]

_Integers = npt.NDArray[np.int64]
_LEAST = 4
"""Room of a node's first block."""


class Adjacency:
    """For each node a block of numbers, in no certain order.

    A block that is full moves to the end with twice the room; when half of the array is unused, all
    blocks are packed.

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
        self._start = np.zeros(0, np.int64)
        self._length = np.zeros(0, np.int64)
        self._room = np.zeros(0, np.int64)
        self._entries = np.zeros(0, np.int32)
        self._end = 0
        self._rooms = 0
        """Total room of all blocks."""

    def lengths(self, nodes: Positions) -> _Integers:
        """Number of entries of each node."""
        self._reach(nodes)
        return self._length.take(nodes)

    def of(self, nodes: Positions) -> tuple[_Integers, _Integers]:
        """All entries of nodes: for each the index in ``nodes``, and the entry."""
        lengths = self.lengths(nodes)
        rows = np.repeat(np.arange(nodes.size), lengths)
        return rows, self._entries.take(self._places(nodes, lengths)).astype(np.int64)

    def add(self, nodes: Positions, entries: Positions) -> None:
        """Add an entry to each node; a node may occur repeatedly."""
        if not nodes.size:
            return
        self._reach(nodes)
        order = np.argsort(nodes, kind="stable")
        nodes, entries = nodes.take(order), entries.take(order)
        firsts = np.flatnonzero(np.concatenate([[True], nodes[1:] != nodes[:-1]]))
        owners = nodes.take(firsts)
        counts = np.diff(np.append(firsts, nodes.size))
        self._make_room(owners, self._length.take(owners) + counts)
        begin = self._start.take(owners) + self._length.take(owners)
        places = np.repeat(begin - firsts, counts) + np.arange(nodes.size)
        self._entries[places] = entries
        self._length[owners] += counts

    def remove(self, nodes: Positions, entries: Positions) -> None:
        """Remove entries of nodes. It costs as much as the nodes have entries."""
        owners = distinct(nodes)
        rows, found = self.of(owners)
        # an entry is an edge, which may be at both of its ends: the pair tells them apart
        index = np.searchsorted(owners, nodes)
        gone = _pairs_in(rows, found, index, entries)
        rows, found = rows[~gone], found[~gone]
        lengths = np.bincount(rows, minlength=owners.size)
        self._length[owners] = lengths
        self._entries[self._places(owners, lengths)] = found

    def _places(self, nodes: Positions, lengths: _Integers) -> _Integers:
        ends = np.cumsum(lengths)
        begin = self._start.take(nodes) - (ends - lengths)
        total = int(ends[-1]) if ends.size else 0
        return np.repeat(begin, lengths) + np.arange(total)

    def _reach(self, nodes: Positions) -> None:
        if nodes.size and (most := int(nodes.max()) + 1) > self._start.size:
            self._start = grown(self._start, most)
            self._length = grown(self._length, most)
            self._room = grown(self._room, most)

    def _make_room(self, nodes: Positions, needed: _Integers) -> None:
        full = needed > self._room.take(nodes)
        moved, rooms = nodes[full], np.maximum(2 * needed[full], _LEAST)
        if not moved.size:
            return
        total = int(rooms.sum())
        if self._end + total > 3 * (self._rooms + total):
            self._pack()
        rows, entries = self.of(moved)
        self._rooms += total - int(self._room.take(moved).sum())
        self._start[moved] = self._end + np.cumsum(rooms) - rooms
        self._room[moved] = rooms
        self._end += total
        self._entries = grown(self._entries, self._end)
        self._entries[self._places(moved, np.bincount(rows, minlength=moved.size))] = entries

    def _pack(self) -> None:
        nodes = np.flatnonzero(self._room)
        _, entries = self.of(nodes)
        rooms = self._room.take(nodes)
        self._start[nodes] = np.cumsum(rooms) - rooms
        self._end = int(rooms.sum())
        self._entries[self._places(nodes, self._length.take(nodes))] = entries


def _pairs_in(
    rows: _Integers, entries: _Integers, of_rows: _Integers, of_entries: _Integers
) -> npt.NDArray[np.bool_]:
    """Mask of the pairs (row, entry) that are among others."""
    if not of_entries.size:
        return np.zeros(rows.size, np.bool_)
    most = int(max(entries.max(initial=0), of_entries.max())) + 1
    found: npt.NDArray[np.bool_] = np.isin(rows * most + entries, of_rows * most + of_entries)
    return found
