"""Graphs without chance, against NetworkX."""

from __future__ import annotations

from collections.abc import Callable

import networkx as nx
import pytest

from millrace.common.errors import JobDefinitionError
from millrace.graph.generators import (
    CirculantGraph,
    CompleteGraph,
    CycleGraph,
    EchoGraph,
    EmptyGraph,
    GraphGenerator,
    GridGraph,
    HypercubeGraph,
    PathGraph,
    SingletonEdgeGraph,
    StarGraph,
)


def edges(generator: GraphGenerator) -> list[tuple[int, int]]:
    table = generator.edge_table()
    return list(zip(table["source"].to_pylist(), table["target"].to_pylist(), strict=True))


def grid(*dimensions: tuple[int, bool]) -> GridGraph:
    generator = GridGraph()
    for size, wraps in dimensions:
        generator.add_dimension(size, wraps)
    return generator


def nx_grid(sizes: list[int], wraps: list[bool]) -> nx.Graph:
    return nx.convert_node_labels_to_integers(
        nx.grid_graph(sizes[::-1], periodic=wraps[::-1]), ordering="sorted"
    )


CASES: dict[str, tuple[Callable[[], GraphGenerator], Callable[[], nx.Graph]]] = {
    "complete": (lambda: CompleteGraph(6), lambda: nx.complete_graph(6)),
    "complete, two": (lambda: CompleteGraph(2), lambda: nx.complete_graph(2)),
    "cycle": (lambda: CycleGraph(7), lambda: nx.cycle_graph(7)),
    "path": (lambda: PathGraph(5), lambda: nx.path_graph(5)),
    "star": (lambda: StarGraph(6), lambda: nx.star_graph(5)),
    "hypercube": (
        lambda: HypercubeGraph(4),
        lambda: nx.convert_node_labels_to_integers(nx.hypercube_graph(4), ordering="sorted"),
    ),
    "grid": (lambda: grid((2, False), (4, False)), lambda: nx_grid([2, 4], [False, False])),
    "wrapped grid": (
        lambda: grid((3, True), (2, True), (4, False)),
        lambda: nx_grid([3, 2, 4], [True, False, False]),
    ),
    "echo, odd": (lambda: EchoGraph(9, 4), lambda: nx.circulant_graph(9, [3, 4])),
    "echo, even": (lambda: EchoGraph(8, 3), lambda: nx.circulant_graph(8, [3, 4])),
    "empty": (lambda: EmptyGraph(3), lambda: nx.empty_graph(3)),
    "pairs": (
        lambda: SingletonEdgeGraph(3),
        lambda: nx.Graph([(0, 1), (2, 3), (4, 5)]),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_against_networkx(name: str) -> None:
    """Each edge in both directions, once."""
    ours, theirs = CASES[name]
    assert sorted(edges(ours())) == sorted(theirs().to_directed().edges)
    assert ours().vertex_count == len(theirs())


def test_a_circulant_graph_is_directed() -> None:
    generator = CirculantGraph(5).add_range(1, 2)
    expected = [(number, (number + step) % 5) for number in range(5) for step in (1, 2)]
    assert sorted(edges(generator)) == sorted(expected)


def test_more_units_than_a_block() -> None:
    path = edges(PathGraph(70_000))
    assert (len(path), len(set(path))) == (2 * 69_999, 2 * 69_999)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: CompleteGraph(1), "number of vertices has to be an integer of at least 2"),
        (lambda: CirculantGraph(4).add_range(3, 2), "offsets 3 to 4 have to be less than"),
        (lambda: CirculantGraph(9).add_range(1, 3).add_range(2, 1), "2 to 2 overlap 1 to 3"),
        (lambda: EchoGraph(5, 3), "either the number of vertices, 5, or the degree, 3"),
        (lambda: EchoGraph(8, 4), "has to be even"),
        (lambda: EchoGraph(5, 5), "has to be less than the number of vertices"),
        (lambda: GridGraph().add_dimension(1, False), "size of a dimension"),
        (lambda: GridGraph().generate(), "at least one dimension"),
        (lambda: PathGraph(3).set_parallelism(0), "parallelism has to be"),
    ],
    ids=range(9),
)
def test_parameters(make: Callable[[], object], message: str) -> None:
    with pytest.raises(JobDefinitionError, match=message):
        make()
