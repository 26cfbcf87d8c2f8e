"""Triangles. Each is found once, by the partition that owns its vertex with the smallest degree.

Edges lead from the vertex of lower degree to that of higher degree, so that rows are short. For
each such edge, the shorter of two rows is looked up in the other, which is marked in a block of
bytes. Rows of remote vertices come in parts, so that a partition never holds the whole graph.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from millrace.graph.kernels.adjacency import AdjacencyView
from millrace.graph.kernels.segments import Array, entries, offsets_of
from millrace.runtime.supersteps.graph_exchange import GraphExchange
from millrace.runtime.supersteps.graph_partition import GraphPartition
from millrace.state.columns.multi_index import ranges

PART = 1 << 21
"""Entries of remote rows that one partition sends another in a superstep."""
MARKS = 1 << 25
"""Bytes of marked rows."""
CANDIDATES = 1 << 19
"""Pairs of edges that are looked up at a time."""

OnTriangles = Callable[[Array, Array, Array, Array], None]
"""Takes slots u, v, w of triangles, and the directions of (u, v), (u, w), (v, w) in six bits."""


@dataclass(frozen=True)
class _Rows:
    """Neighbours of higher degree, as columns. A neighbour is given by its place in the order of
    degrees."""

    offsets: npt.NDArray[np.int64]
    columns: Array
    bits: Array

    def lengths(self) -> npt.NDArray[np.int64]:
        return np.diff(self.offsets)


@dataclass(frozen=True)
class _Oriented:
    """Neighbours of higher degree, for the vertices that the task owns.

    Attributes:
        slots: the slot of each column.
        ranks: place of each slot's vertex in the order of the graph, the highest degree first.
        column_of_rank: -1 for vertices that are not known here.
    """

    partition: GraphPartition
    rows: _Rows
    slots: Array
    ranks: Array
    column_of_rank: Array


def find_triangles(view: AdjacencyView, on_triangles: OnTriangles) -> None:
    """Find all triangles.

    Args:
        view: distinct neighbours with the bits of their directions.
        on_triangles: called for many triangles at a time.
    """
    exchange, partition = view.exchange, view.partition
    oriented = _orient(view)
    tasks = _Tasks(oriented, on_triangles)
    tasks.close(np.arange(partition.vertex_count), oriented.rows)
    wanted = _wanted(oriented)
    requests = exchange.swap_parts("rows_wanted", [[indexes] for _, indexes in wanted])
    parts = [
        _parts(oriented.rows, mirror[places])
        for mirror, (places,) in zip(partition.mirrors, requests, strict=True)
    ]
    taken = [0] * partition.parallelism
    for number in range(int(exchange.all_reduce(max(map(len, parts)), "max"))):
        received = exchange.swap_parts("rows", [_part(oriented, part, number) for part in parts])
        for task, (lengths, ranks, bits) in enumerate(received):
            begin, taken[task] = taken[task], taken[task] + len(lengths)
            slots = wanted[task][0][begin : taken[task]]
            if len(slots):
                tasks.close(slots, _known_rows(oriented, lengths, ranks, bits))


def _orient(view: AdjacencyView) -> _Oriented:
    partition, exchange = view.partition, view.exchange
    own_ranks = _ranks(partition.out_degrees, exchange)
    ranks = exchange.pull(own_ranks)
    slots = np.argsort(ranks)
    columns = np.empty(len(ranks), dtype=np.int64)
    columns[slots] = np.arange(len(ranks))
    column_of_rank = np.full(partition.total_vertices, -1, dtype=np.int32)
    column_of_rank[ranks] = columns
    vertices = partition.sources.astype(np.int64)
    others = columns[partition.targets]
    is_higher = others < columns[vertices]
    keys = vertices[is_higher] << 34 | others[is_higher] << 2 | view.edge_values[is_higher]
    keys.sort()
    offsets = offsets_of(np.bincount(keys >> 34, minlength=partition.vertex_count))
    row_columns = (keys >> 2 & (1 << 32) - 1).astype(np.int32)
    rows = _Rows(offsets, row_columns, (keys & 3).astype(np.uint8))
    return _Oriented(partition, rows, slots, ranks, column_of_rank)


def _ranks(degrees: Array, exchange: GraphExchange) -> npt.NDArray[np.int64]:
    """Place of each own vertex in the order of descending degrees."""
    greatest = int(exchange.all_reduce(int(degrees.max(initial=0)), "max"))
    counts = np.bincount(degrees, minlength=greatest + 1)
    gathered = exchange.all_gather(counts)
    of_degree = np.sum(gathered, axis=0)
    above = of_degree[::-1].cumsum()[::-1] - of_degree
    begins = above + np.sum(gathered[: exchange.index], axis=0, dtype=np.int64)
    order = np.argsort(degrees, kind="stable")
    position = np.arange(len(degrees)) - (np.cumsum(counts) - counts)[degrees[order]]
    ranks = np.empty(len(degrees), dtype=np.int64)
    ranks[order] = np.broadcast_to(begins, of_degree.shape)[degrees[order]] + position
    return ranks


def _wanted(oriented: _Oriented) -> list[tuple[Array, Array]]:
    """The slots of each other task's vertices whose rows are needed, as slots here and as places
    among the mirrors there."""
    partition = oriented.partition
    is_wanted = np.zeros(partition.slot_count, dtype=bool)
    is_wanted[oriented.slots[oriented.rows.columns]] = True
    bounds = partition.ghost_offsets + partition.vertex_count
    places = [np.flatnonzero(is_wanted[low:high]) for low, high in itertools.pairwise(bounds)]
    return [(at + bounds[task], at) for task, at in enumerate(places)]


def _parts(rows: _Rows, indexes: Array) -> list[Array]:
    """Requested vertices, cut so that their rows have about ``PART`` entries."""
    if not len(indexes):
        return []
    ends = np.cumsum(rows.lengths()[indexes])
    cuts = np.searchsorted(ends, np.arange(PART, int(ends[-1]), PART)) + 1
    return [part for part in np.split(indexes, cuts) if len(part)]


def _part(oriented: _Oriented, parts: list[Array], number: int) -> list[Array]:
    """Lengths of rows, and their entries as ranks, with the bits of their directions."""
    indexes = parts[number] if number < len(parts) else np.zeros(0, dtype=np.int64)
    places, lengths = entries(oriented.rows.offsets, indexes)
    ranks = oriented.ranks[oriented.slots[oriented.rows.columns[places]]]
    return [lengths, ranks.astype(np.int32), oriented.rows.bits[places]]


def _known_rows(oriented: _Oriented, lengths: Array, ranks: Array, bits: Array) -> _Rows:
    """Rows without the vertices that have no edge here."""
    columns = oriented.column_of_rank[ranks]
    is_known = columns >= 0
    counts = np.bincount(
        np.repeat(np.arange(len(lengths)), lengths)[is_known], minlength=len(lengths)
    )
    return _Rows(offsets_of(counts), columns[is_known], bits[is_known])


class _Tasks:
    """Completes pairs of edges (u, v) and (u, w) or (v, w) to triangles."""

    def __init__(self, oriented: _Oriented, on_triangles: OnTriangles) -> None:
        self._oriented = oriented
        self._on_triangles = on_triangles
        rows = oriented.rows
        self._sources = np.repeat(np.arange(oriented.partition.vertex_count), rows.lengths())
        targets = oriented.slots[rows.columns]
        self._by_target = np.argsort(targets, kind="stable")
        """Places of the rows' entries, target by target."""
        self._of_target = offsets_of(np.bincount(targets, minlength=oriented.partition.slot_count))
        width = max(oriented.partition.slot_count, 1)
        self._height = max(MARKS // width, 1)
        self._width = width
        self._marks = np.zeros(self._height * width, dtype=np.uint8)

    def close(self, slots: Array, rows: _Rows) -> None:
        """Find the triangles of all edges (u, v) to vertices v, given the rows of these."""
        places, counts = entries(self._of_target, slots)
        edges = self._by_target[places]
        targets = np.repeat(np.arange(len(slots)), counts)
        own = self._oriented.rows
        before = edges - own.offsets[self._sources[edges]]
        behind = rows.lengths()[targets]
        is_possible = (before > 0) & (behind > 0)
        by_source = is_possible & (behind <= before)
        by_target = is_possible & ~by_source
        self._mark_sources(edges[by_source], targets[by_source], slots, rows)
        self._mark_targets(edges[by_target], targets[by_target], before[by_target], slots, rows)

    def _mark_sources(self, edges: Array, targets: Array, slots: Array, rows: _Rows) -> None:
        """Look up the targets' rows in the marked rows of the sources."""
        order = np.argsort(self._sources[edges], kind="stable")
        edges, targets = edges[order], targets[order]
        sources, counts = self._sources[edges], rows.lengths()[targets]
        own = self._oriented.rows
        for pairs, columns, marked, sought in self._hits((own, sources), (rows, targets), counts):
            bits = own.bits[edges[pairs]] << 4 | marked << 2 | sought
            self._emit(sources[pairs], slots[targets[pairs]], columns, bits)

    def _mark_targets(
        self, edges: Array, targets: Array, counts: Array, slots: Array, rows: _Rows
    ) -> None:
        """Look up the sources' rows in the marked rows of the targets."""
        own, sources = self._oriented.rows, self._sources[edges]
        for pairs, columns, marked, sought in self._hits((rows, targets), (own, sources), counts):
            bits = own.bits[edges[pairs]] << 4 | sought << 2 | marked
            self._emit(sources[pairs], slots[targets[pairs]], columns, bits)

    def _hits(
        self, to_mark: tuple[_Rows, Array], to_seek: tuple[_Rows, Array], counts: Array
    ) -> Iterator[tuple[Array, Array, Array, Array]]:
        """Columns that rows of both kinds have, pair by pair.

        Args:
            to_mark: rows, and the one of each pair that is marked, ascending.
            to_seek: rows, and the one of each pair whose first entries are looked up.
            counts: number of these entries.

        Returns:
            for parts of the result, by hit: the pair, the column, its bits in the marked row, and
            those in the other one.
        """
        (marked_rows, keys), (rows, others) = to_mark, to_seek
        for begin, end, vertices, heights in self._blocks(keys, counts):
            with_marks = self._marked(marked_rows, vertices)
            for first, last in _slices(counts, begin, end):
                lengths = counts[first:last]
                places = ranges(rows.offsets[others[first:last]], lengths)
                columns = rows.columns[places]
                bases = heights[first - begin : last - begin] * self._width
                marks = self._marks[np.repeat(bases, lengths) + columns]
                hits = np.flatnonzero(marks)
                pairs = np.repeat(np.arange(first, last), lengths)[hits]
                yield pairs, columns[hits], marks[hits], rows.bits[places[hits]]
            self._marks[with_marks] = 0

    def _emit(self, sources: Array, targets: Array, columns: Array, bits: Array) -> None:
        if len(sources):
            self._on_triangles(sources, targets, self._oriented.slots[columns], bits)

    def _marked(self, rows: _Rows, vertices: Array) -> npt.NDArray[np.int64]:
        """Mark the rows of these vertices, one under the other; returns the marked places."""
        places, lengths = entries(rows.offsets, vertices)
        marked = np.repeat(np.arange(len(vertices)) * self._width, lengths) + rows.columns[places]
        self._marks[marked] = rows.bits[places]
        return marked

    def _blocks(self, keys: Array, counts: Array) -> list[tuple[int, int, Array, Array]]:
        """Slices of ascending keys with at most as many distinct ones as rows can be marked.

        Returns:
            begin, end, the distinct keys, and the place of each entry's key among them.
        """
        if not len(keys):
            return []
        is_first = np.concatenate([[True], keys[1:] != keys[:-1]])
        number = np.cumsum(is_first) - 1
        starts = np.flatnonzero(is_first)
        blocks = []
        for low in range(0, len(starts), self._height):
            high = min(low + self._height, len(starts))
            begin = int(starts[low])
            end = int(starts[high]) if high < len(starts) else len(keys)
            blocks.append((begin, end, keys[starts[low:high]], number[begin:end] - low))
        return blocks


def _slices(counts: Array, begin: int, end: int) -> list[tuple[int, int]]:
    """Cut a slice so that each part has about ``CANDIDATES`` candidates."""
    ends = np.cumsum(counts[begin:end])
    if not len(ends) or ends[-1] <= CANDIDATES:
        return [(begin, end)]
    cuts = np.searchsorted(ends, np.arange(CANDIDATES, int(ends[-1]), CANDIDATES)) + 1 + begin
    bounds = np.unique(np.concatenate([[begin], cuts, [end]])).tolist()
    return list(itertools.pairwise(bounds))
