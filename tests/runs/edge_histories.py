"""Random histories of edges, and what NetworkX says about the graphs that they lead to."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import networkx as nx

from millrace.common.types.row import Row, RowKind
from millrace.graph.streams import added, removed

Rows = set[tuple[Any, ...]]


@dataclass
class History:
    """Draws changes, and keeps the edges that they leave.

    Attributes:
        dice: source of chance.
        vertices: ids of vertices.
        weights: whether edges have whole numbers as values.
    """

    dice: random.Random
    vertices: list[Any]
    weights: bool = False
    edges: list[tuple[Any, ...]] = field(default_factory=list)

    def changes(self, count: int) -> list[Row]:
        """Further changes: some remove edges that are not there."""
        return [self._change() for _ in range(count)]

    def _change(self) -> Row:
        dice = self.dice
        if self.edges and dice.random() < 0.4:
            return removed(*self.edges.pop(dice.randrange(len(self.edges))))
        edge: tuple[Any, ...] = (dice.choice(self.vertices), dice.choice(self.vertices))
        if self.weights:
            edge = (*edge, float(dice.randrange(1, 6)))
        if dice.random() < 0.1:
            if edge in self.edges:
                self.edges.remove(edge)
            return removed(*edge)
        self.edges.append(edge)
        return added(*edge)

    def graph(self) -> Any:
        """The graph of the edges."""
        graph = nx.MultiDiGraph()
        graph.add_edges_from(edge[:2] for edge in self.edges)
        return graph


def folded(rows: Iterable[Row]) -> Rows:
    """The rows that changes leave."""
    count: Counter[tuple[Any, ...]] = Counter()
    for row in rows:
        gone = row.get_row_kind() in (RowKind.UPDATE_BEFORE, RowKind.DELETE)
        count[tuple(row)] += -1 if gone else 1
    assert set(count.values()) <= {0, 1}, "a row is there twice, or is removed twice"
    return {row for row, number in count.items() if number}


def components(graph: Any) -> Rows:
    parts = nx.connected_components(graph.to_undirected())
    return {(vertex, min(part)) for part in parts for vertex in part}


def sides(graph: Any) -> Rows:
    simple, rows = nx.Graph(graph), set()
    for part in nx.connected_components(simple):
        first, piece = min(part), simple.subgraph(part)
        if nx.is_bipartite(piece):
            colour = nx.bipartite.color(piece)
            rows |= {(vertex, first, colour[vertex] != colour[first]) for vertex in part}
        else:
            rows |= {(vertex, first, None) for vertex in part}
    return rows


def bipartite(graph: Any) -> Rows:
    return {(nx.is_bipartite(nx.Graph(graph)),)} if len(graph) else set()


def without_zero(rows: Rows) -> Rows:
    """Rows without the count of nothing, which is there only if there was something."""
    return {row for row in rows if row != (0,) or row[0] is False}


def triangles(graph: Any) -> Rows:
    simple = nx.Graph(graph)
    simple.remove_edges_from(list(nx.selfloop_edges(simple)))
    return {(vertex, number) for vertex, number in nx.triangles(simple).items() if number}


def triangle_count(graph: Any) -> Rows:
    return without_zero({(sum(number for _, number in triangles(graph)) // 3,)})


EXPECTED: dict[str, Callable[[Any], Rows]] = {
    "degrees": lambda graph: set(graph.degree),
    "in_degrees": lambda graph: set(graph.in_degree),
    "out_degrees": lambda graph: set(graph.out_degree),
    "edge_count": lambda graph: without_zero({(graph.number_of_edges(),)}),
    "vertex_count": lambda graph: without_zero({(len(graph),)}),
    "components": components,
    "bipartite_sides": sides,
    "is_bipartite": bipartite,
    "triangles": triangles,
    "triangle_count": triangle_count,
}


def distances(edges: Iterable[tuple[Any, ...]], source: Any) -> Rows:
    """Distances from a vertex over edges with their lengths."""
    graph = nx.MultiDiGraph()
    graph.add_weighted_edges_from(edges)
    if source not in graph:
        return set()
    return set(nx.single_source_dijkstra_path_length(graph, source).items())


def ranks(graph: Any) -> dict[Any, float]:
    return dict(nx.pagerank(graph, tol=1e-10, max_iter=1000))
