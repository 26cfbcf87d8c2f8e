"""Each algorithm of the library equals NetworkX, or a plain model where NetworkX has none, on
random graphs, with the graph in one, two and three parts.

``MILLRACE_GRAPHS`` is the number of graphs of each test, 200 at most.
"""

from __future__ import annotations

import os
import random
import tracemalloc
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from math import inf, isnan, log
from typing import Any

import networkx as nx
import numpy as np
import pyarrow as pa
import pytest

from millrace.common.errors import JobDefinitionError
from millrace.graph.column_type import column_type_of_arrow
from millrace.graph.library.clustering import (
    AverageClusteringCoefficient,
    GlobalClusteringCoefficient,
    LocalClusteringCoefficient,
)
from millrace.graph.library.community_detection import CommunityDetection
from millrace.graph.library.connected_components import ConnectedComponents
from millrace.graph.library.degrees import EdgeDegreesPair, VertexDegrees
from millrace.graph.library.diameter import Diameter
from millrace.graph.library.hits import HITS
from millrace.graph.library.label_propagation import LabelPropagation
from millrace.graph.library.metrics import EdgeMetrics, TriadicCensus, VertexMetrics
from millrace.graph.library.neighborhood_function import (
    NeighborhoodFunction,
    NeighborhoodFunctionResult,
    estimates,
    sketches,
)
from millrace.graph.library.page_rank import PageRank, WeightedPageRank
from millrace.graph.library.shortest_paths import SingleSourceShortestPaths
from millrace.graph.library.similarity import AdamicAdar, JaccardIndex
from millrace.graph.library.triangles import TriangleCount, TriangleEnumerator, TriangleListing
from millrace.runtime.supersteps.graph_exchange import GraphExchange
from millrace.runtime.supersteps.graph_partition import GraphPartition
from millrace.runtime.supersteps.local_run import (
    LocalTransport,
    graph_tables,
    local_partition,
    run_local,
    run_tasks,
)
from millrace.runtime.supersteps.superstep_loop import result_table, run_supersteps

pytestmark = pytest.mark.turns(3)
GRAPHS = int(os.environ.get("MILLRACE_GRAPHS", "12"))
ALL_GRAPHS = 200
PARALLELISM = (1, 2, 3)


@dataclass(frozen=True)
class RandomGraph:
    """A graph with self-loops, parallel edges and vertices without edges."""

    vertices: tuple[Any, ...]
    edges: tuple[tuple[Any, Any, float], ...]
    values: tuple[Any, ...] | None

    @property
    def labels(self) -> dict[Any, Any]:
        """The values of vertices, or their ids."""
        return dict(zip(self.vertices, self.values or self.vertices, strict=True))

    def multigraph(self) -> nx.MultiDiGraph:
        graph = nx.MultiDiGraph()
        graph.add_nodes_from(self.vertices)
        graph.add_weighted_edges_from(self.edges)
        return graph

    def digraph(self) -> nx.DiGraph:
        """Without self-loops and parallel edges."""
        graph = nx.DiGraph(self.multigraph())
        graph.remove_edges_from(list(nx.selfloop_edges(graph)))
        return graph

    def simple(self) -> nx.Graph:
        """Without directions, self-loops and parallel edges."""
        return nx.Graph(self.digraph())


@cache
def random_graph(seed: int) -> RandomGraph:
    rng = random.Random(seed)
    size = rng.randint(0 if seed % 50 == 49 else 2, 24)
    ids: list[Any] = [number * 7 - 40 for number in range(size)]
    if seed % 3 == 1:
        ids = [f"v{number}" for number in range(size)]
    count = int(size * rng.choice([0, 0.5, 1, 2, 4]))
    pairs = [(rng.choice(ids), rng.choice(ids)) for _ in range(count)]
    if seed % 4 == 0:
        pairs = [pair for one in pairs for pair in (one, one[::-1])]
    if pairs and seed % 5 < 3:
        pairs += rng.choices(pairs, k=3)
        pairs.append((ids[0], ids[0]))
    edges = [(*pair, rng.choice([0.25, 0.5, 1.0, 2.0])) for pair in pairs]
    values = None
    if seed % 7 == 2:
        values = tuple(rng.choice(["red", "green", "blue", "grey"]) for _ in ids)
    elif seed % 7 == 4:
        values = tuple(rng.randint(-3, 3) for _ in ids)
    return RandomGraph(tuple(ids), tuple(edges), values)


def _tables(graph: RandomGraph) -> tuple[pa.Table, pa.Table]:
    is_text = bool(graph.vertices) and isinstance(graph.vertices[0], str)
    kind = pa.string() if is_text else pa.int64()
    columns = {"id": pa.array(graph.vertices, kind)}
    if graph.values is not None:
        columns["value"] = pa.array(graph.values)
    ends = list(zip(*graph.edges, strict=True)) or [(), (), ()]
    edges = {"source": pa.array(ends[0], kind), "target": pa.array(ends[1], kind)}
    return pa.table(columns), pa.table({**edges, "value": pa.array(ends[2], pa.float64())})


@cache
def _partitions(seed: int, parallelism: int) -> list[GraphPartition]:
    tables = _tables(random_graph(seed))
    transports = LocalTransport.of_tasks(parallelism)
    return run_tasks(lambda transport: local_partition(transport, *tables), transports)


def run(algorithm: Any, seed: int, parallelism: int) -> pa.Table:
    """The result of all tasks."""
    partitions = _partitions(seed, parallelism)

    def task(transport: Any) -> pa.Table:
        program, partition = algorithm.program(), partitions[transport.index]
        run_supersteps(program, partition, GraphExchange(transport, partition))
        return result_table(program)

    return pa.concat_tables(run_tasks(task, LocalTransport.of_tasks(parallelism)))


def _rows(table: pa.Table) -> list[tuple[Any, ...]]:
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def check(
    algorithm: Callable[[RandomGraph], Any],
    expected: Callable[[RandomGraph], Any],
    graphs: range,
) -> None:
    """Compare results: rows as sorted lists, numbers of analytics as they are."""
    for seed in graphs:
        graph = random_graph(seed)
        for parallelism in PARALLELISM:
            running = algorithm(graph)
            table = run(running, seed, parallelism)
            if hasattr(running, "outcome"):
                actual = running.outcome(table)
            else:
                kinds = running.columns(column_type_of_arrow(pa.int64()), None)
                assert table.column_names == list(kinds)
                actual = sorted(_rows(table))
            wanted = expected(graph)
            where = f"graph {seed} in {parallelism} parts"
            assert _matches(actual, wanted), f"{where}: {actual}\n{wanted}"


def _matches(actual: Any, wanted: Any) -> bool:
    if isinstance(wanted, list | tuple):
        return len(actual) == len(wanted) and all(map(_matches, actual, wanted))
    if isinstance(wanted, float):
        return bool(actual == pytest.approx(wanted, abs=1e-9, nan_ok=True))
    return bool(actual == wanted)


def _graphs() -> range:
    """The graphs of a test; each run draws the same ones."""
    return range(min(GRAPHS, ALL_GRAPHS))


# Link analysis


def _page_rank(graph: RandomGraph, weight: str | None, everything: bool) -> list[Any]:
    multigraph = graph.multigraph()
    if not everything:
        multigraph.remove_nodes_from([v for v, degree in list(multigraph.degree) if not degree])
    if not len(multigraph):
        return []
    flat = nx.DiGraph()
    flat.add_nodes_from(multigraph)
    for source, target, value in multigraph.edges(data="weight"):
        more = 1.0 if weight is None else value
        old = flat.get_edge_data(source, target, {"weight": 0.0})["weight"]
        flat.add_edge(source, target, weight=old + more)
    ranks = nx.pagerank(flat, 0.8, tol=1e-14, max_iter=1000)
    return sorted(ranks.items())


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("everything", [False, True])
def test_page_rank(weighted: bool, everything: bool) -> None:
    check(
        lambda graph: PageRank(
            0.8,
            convergence_threshold=1e-13,
            include_zero_degree_vertices=everything,
            weighted=weighted,
        ),
        lambda graph: _page_rank(graph, "weight" if weighted else None, everything),
        _graphs(),
    )


def test_page_rank_with_a_limit_of_iterations() -> None:
    def expected(graph: RandomGraph) -> list[Any]:
        matrix, ids = _matrix(graph, lambda value: 1.0)
        if not ids:
            return []
        sums = matrix.sum(axis=1)
        ranks = np.full(len(ids), 1 / len(ids))
        for _ in range(4):
            shares = np.divide(ranks, sums, out=np.zeros_like(ranks), where=sums > 0)
            lost = ranks[sums == 0].sum()
            ranks = 0.7 * (shares @ matrix) + (0.3 + 0.7 * lost) / len(ids)
        return sorted(zip(ids, ranks.tolist(), strict=True))

    check(lambda graph: PageRank(0.7, 4, include_zero_degree_vertices=True), expected, _graphs())


def _matrix(graph: RandomGraph, weight: Callable[[float], float]) -> tuple[Any, list[Any]]:
    ids = list(graph.vertices)
    places = {vertex: place for place, vertex in enumerate(ids)}
    matrix = np.zeros((len(ids), len(ids)))
    for source, target, value in graph.edges:
        matrix[places[source], places[target]] += weight(value)
    return matrix, ids


def test_weighted_page_rank() -> None:
    def expected(graph: RandomGraph) -> list[Any]:
        matrix, ids = _matrix(graph, float)
        counts = _matrix(graph, lambda value: 1.0)[0].sum(axis=1)
        ranks = np.full(len(ids), 1 / max(len(ids), 1))
        for _ in range(6):
            shares = np.divide(ranks, counts, out=np.zeros_like(ranks), where=counts > 0)
            ranks = 0.85 * (shares @ matrix) + 0.15 / max(len(ids), 1)
        return sorted(zip(ids, ranks.tolist(), strict=True))

    check(lambda graph: WeightedPageRank(0.85, 6), expected, _graphs())


@pytest.mark.parametrize("weighted", [False, True])
def test_hits(weighted: bool) -> None:
    def expected(graph: RandomGraph) -> list[Any]:
        matrix, ids = _matrix(graph, float if weighted else lambda value: 1.0)
        edges = _matrix(graph, lambda value: 1.0)[0]
        hubs, authorities = np.zeros(len(ids)), edges.sum(axis=0)
        for _ in range(8):
            hubs = matrix @ authorities
            authorities = hubs @ matrix
            hubs = hubs / (np.linalg.norm(hubs) or 1)
            authorities = authorities / (np.linalg.norm(authorities) or 1)
        has_edge = edges.sum(axis=0) + edges.sum(axis=1) > 0
        rows = zip(ids, hubs.tolist(), authorities.tolist(), strict=True)
        return sorted(row for row, shown in zip(rows, has_edge, strict=True) if shown)

    check(lambda graph: HITS(8, weighted=weighted), expected, _graphs())


# Components and paths


def test_connected_components() -> None:
    def expected(graph: RandomGraph) -> list[Any]:
        labels = graph.labels
        parts = nx.weakly_connected_components(graph.multigraph())
        return sorted((vertex, min(map(labels.get, part))) for part in parts for vertex in part)

    check(lambda graph: ConnectedComponents(100), expected, _graphs())


def test_shortest_paths() -> None:
    def expected(graph: RandomGraph) -> list[Any]:
        source = graph.vertices[-1]
        lengths = nx.single_source_dijkstra_path_length(graph.multigraph(), source)
        return sorted((vertex, float(lengths.get(vertex, inf))) for vertex in graph.vertices)

    graphs = [seed for seed in _graphs() if random_graph(seed).vertices]
    for seed in graphs:
        check(
            lambda graph: SingleSourceShortestPaths(graph.vertices[-1], 100),
            expected,
            range(seed, seed + 1),
        )


def test_shortest_paths_have_no_more_edges_than_iterations() -> None:
    def expected(graph: RandomGraph) -> list[Any]:
        distances = dict.fromkeys(graph.vertices, inf) | {graph.vertices[0]: 0.0}
        for _ in range(2):
            before = dict(distances)
            for source, target, length in graph.edges:
                distances[target] = min(distances[target], before[source] + length)
        return sorted(distances.items())

    for seed in [seed for seed in _graphs() if random_graph(seed).vertices]:
        check(
            lambda graph: SingleSourceShortestPaths(graph.vertices[0], 2),
            expected,
            range(seed, seed + 1),
        )


# Communities


def _neighbours(graph: RandomGraph, undirected: bool) -> dict[Any, list[tuple[Any, float]]]:
    """The sources of each vertex's in-edges; undirected, the targets of its out-edges, too."""
    neighbours: dict[Any, list[tuple[Any, float]]] = {vertex: [] for vertex in graph.vertices}
    for source, target, value in graph.edges:
        neighbours[target].append((source, value))
        if undirected:
            neighbours[source].append((target, value))
    return neighbours


@pytest.mark.parametrize("undirected", [False, True])
def test_label_propagation(undirected: bool) -> None:
    def expected(graph: RandomGraph) -> list[Any]:
        labels = graph.labels
        neighbours = _neighbours(graph, undirected)
        for _ in range(5):
            before = dict(labels)
            for vertex, sources in neighbours.items():
                counts = Counter(before[source] for source, _ in sources)
                most = max(counts.values(), default=0)
                best = [label for label, count in counts.items() if count == most]
                if most == 1:
                    best.append(before[vertex])
                labels[vertex] = max(best, default=before[vertex])
        return sorted(labels.items())

    check(lambda graph: LabelPropagation(5, undirected=undirected), expected, _graphs())


def test_community_detection() -> None:
    def expected(graph: RandomGraph) -> list[Any]:
        labels, scores = graph.labels, dict.fromkeys(graph.vertices, 1.0)
        neighbours = _neighbours(graph, True)
        for number in range(1, 5):
            old_labels, old_scores = dict(labels), dict(scores)
            for vertex, others in neighbours.items():
                received: dict[Any, list[float]] = {}
                for other, value in others:
                    received.setdefault(old_labels[other], []).append(old_scores[other] * value)
                if not received:
                    continue
                sums = {
                    label: np.add.reduceat(np.sort(values), [0])[0]
                    for label, values in received.items()
                }
                best = min(label for label in sums if sums[label] == max(sums.values()))
                labels[vertex] = best
                is_new = best != old_labels[vertex]
                scores[vertex] = max(received[best]) - (0.5 / number if is_new else 0.0)
        return sorted(labels.items())

    check(lambda graph: CommunityDetection(4), expected, _graphs())


# Triangles


def _triangles(graph: RandomGraph) -> list[tuple[Any, Any, Any]]:
    simple = graph.simple()
    return [
        (one, two, three)
        for one, two, three in combinations(sorted(graph.vertices), 3)
        if simple.has_edge(one, two) and simple.has_edge(two, three) and simple.has_edge(one, three)
    ]


def test_triangles() -> None:
    check(lambda graph: TriangleEnumerator(), lambda graph: sorted(_triangles(graph)), _graphs())
    check(lambda graph: TriangleCount(), lambda graph: len(_triangles(graph)), _graphs())


def test_triangles_with_directions() -> None:
    def expected(graph: RandomGraph) -> list[Any]:
        digraph = graph.digraph()

        def bits(one: Any, two: Any) -> int:
            return digraph.has_edge(one, two) | digraph.has_edge(two, one) << 1

        return sorted(
            (one, two, three, bits(one, two) << 4 | bits(one, three) << 2 | bits(two, three))
            for one, two, three in _triangles(graph)
        )

    check(
        lambda graph: TriangleListing(directed=True, sort_triangle_vertices=True),
        expected,
        _graphs(),
    )


def test_unsorted_triangles_are_the_same_ones() -> None:
    for seed in _graphs():
        for parallelism in PARALLELISM:
            rows = _rows(run(TriangleListing(), seed, parallelism))
            assert sorted(tuple(sorted(row)) for row in rows) == _triangles(random_graph(seed))


@pytest.mark.parametrize("everything", [False, True])
def test_local_clustering_coefficient(everything: bool) -> None:
    def expected(graph: RandomGraph) -> list[Any]:
        simple = graph.simple()
        triangles, scores = nx.triangles(simple), nx.clustering(simple)
        return sorted(
            (vertex, degree, triangles[vertex], float(scores[vertex]) if degree > 1 else np.nan)
            for vertex, degree in simple.degree
            if degree or everything
        )

    check(
        lambda graph: LocalClusteringCoefficient(include_zero_degree_vertices=everything),
        expected,
        _graphs(),
    )


def _directed_score(digraph: nx.DiGraph, vertex: Any) -> tuple[int, int, float]:
    neighbours = set(digraph.predecessors(vertex)) | set(digraph.successors(vertex))
    pairs = len(neighbours) * (len(neighbours) - 1)
    edges = digraph.subgraph(neighbours).number_of_edges()
    return len(neighbours), edges, edges / pairs if pairs else np.nan


def test_directed_local_clustering_coefficient() -> None:
    def expected(graph: RandomGraph) -> list[Any]:
        digraph = graph.digraph()
        return sorted((vertex, *_directed_score(digraph, vertex)) for vertex in digraph)

    check(lambda graph: LocalClusteringCoefficient(directed=True), expected, _graphs())


@pytest.mark.parametrize("directed", [False, True])
def test_average_clustering_coefficient(directed: bool) -> None:
    for seed in _graphs():
        graph = random_graph(seed)
        if not graph.vertices:
            continue
        if directed:
            digraph = graph.digraph()
            scores = [_directed_score(digraph, vertex)[2] for vertex in digraph]
            average = float(np.nansum(scores)) / len(graph.vertices)
        else:
            average = nx.average_clustering(graph.simple())
        algorithm = AverageClusteringCoefficient(directed=directed)
        for parallelism in PARALLELISM:
            result = algorithm.outcome(run(algorithm, seed, parallelism))
            assert result.number_of_vertices == len(graph.vertices)
            assert result.average_clustering_coefficient == pytest.approx(average), seed


def test_global_clustering_coefficient() -> None:
    for seed in _graphs():
        simple = random_graph(seed).simple()
        for parallelism in PARALLELISM:
            algorithm = GlobalClusteringCoefficient()
            result = algorithm.outcome(run(algorithm, seed, parallelism))
            assert result.number_of_triangles == sum(nx.triangles(simple).values())
            if result.number_of_triplets:
                score = result.global_clustering_coefficient_score
                assert score == pytest.approx(nx.transitivity(simple)), seed
            else:
                assert np.isnan(result.global_clustering_coefficient_score)


@pytest.mark.parametrize("directed", [False, True])
def test_triadic_census(directed: bool) -> None:
    def expected(graph: RandomGraph) -> dict[str, int]:
        census: dict[str, int] = nx.triadic_census(graph.digraph())
        if directed:
            return census
        counts = Counter({"03": 0, "12": 0, "21": 0, "30": 0})
        for name, count in census.items():
            counts[f"{int(name[0]) + int(name[1])}{name[2]}"] += count
        return dict(counts)

    for seed in _graphs():
        if len(random_graph(seed).vertices) > 2:
            check(lambda graph: TriadicCensus(directed=directed), expected, range(seed, seed + 1))


# Similarity


def _pairs_with_shared_neighbours(simple: nx.Graph) -> list[tuple[Any, Any]]:
    return [
        pair
        for pair in combinations(sorted(simple), 2)
        if any(True for _ in nx.common_neighbors(simple, *pair))
    ]


def _similar(graph: RandomGraph) -> list[tuple[Any, Any, int, int, float]]:
    simple = graph.simple()
    rows = []
    for one, two in _pairs_with_shared_neighbours(simple):
        shared = len(list(nx.common_neighbors(simple, one, two)))
        distinct = len(set(simple[one]) | set(simple[two]))
        ((_, _, score),) = nx.jaccard_coefficient(simple, [(one, two)])
        rows.append((one, two, shared, distinct, float(score)))
    return sorted(rows)


def test_jaccard_index() -> None:
    check(lambda graph: JaccardIndex(), _similar, _graphs())


def test_jaccard_index_between_scores() -> None:
    check(
        lambda graph: JaccardIndex(minimum_score=(1, 4), maximum_score=(2, 3)),
        lambda graph: [
            row for row in _similar(graph) if 4 * row[2] >= row[3] and 3 * row[2] < 2 * row[3]
        ],
        _graphs(),
    )


def _adamic_adar(graph: RandomGraph) -> list[tuple[Any, Any, float]]:
    simple = graph.simple()
    pairs = _pairs_with_shared_neighbours(simple)
    return sorted(
        (one, two, float(score)) for one, two, score in nx.adamic_adar_index(simple, pairs)
    )


def test_adamic_adar() -> None:
    check(lambda graph: AdamicAdar(), _adamic_adar, _graphs())


def test_adamic_adar_above_a_score_and_above_the_average() -> None:
    def expected(graph: RandomGraph) -> list[Any]:
        degrees = [degree for _, degree in graph.simple().degree if degree > 1]
        pairs = [degree * (degree - 1) / 2 for degree in degrees]
        added = [count / log(degree) for count, degree in zip(pairs, degrees, strict=True)]
        average = sum(added) / sum(pairs) if pairs else 0.0
        least = max(0.9, 1.3 * average)
        return [row for row in _adamic_adar(graph) if row[2] >= least]

    check(lambda graph: AdamicAdar(minimum_score=0.9, minimum_ratio=1.3), expected, _graphs())


# Metrics


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("everything", [False, True])
def test_vertex_metrics(directed: bool, everything: bool) -> None:
    for seed in _graphs():
        graph = random_graph(seed)
        digraph, simple = graph.digraph(), graph.simple()
        if not everything:
            digraph.remove_nodes_from(list(nx.isolates(digraph)))
            simple.remove_nodes_from(list(nx.isolates(simple)))
        triplets = [degree * (degree - 1) // 2 for _, degree in simple.degree]
        for parallelism in PARALLELISM:
            algorithm = VertexMetrics(directed=directed, include_zero_degree_vertices=everything)
            result = algorithm.outcome(run(algorithm, seed, parallelism))
            counted = digraph if directed else simple
            assert result.number_of_vertices == len(counted)
            assert result.number_of_edges == counted.number_of_edges()
            assert result.number_of_triplets == sum(triplets)
            assert result.maximum_triplets == max(triplets, default=0)
            degrees = (simple.degree, digraph.out_degree, digraph.in_degree)
            assert (
                result.maximum_degree,
                result.maximum_out_degree,
                result.maximum_in_degree,
            ) == tuple(max((count for _, count in counts), default=0) for counts in degrees)
            if len(counted) > 1:
                assert result.density == pytest.approx(nx.density(counted))
                edges = counted.number_of_edges() * (1 if directed else 2)
                assert result.average_degree == pytest.approx(edges / len(counted))


def test_edge_metrics() -> None:
    for seed in _graphs():
        simple = random_graph(seed).simple()
        order = {vertex: (degree, vertex) for vertex, degree in simple.degree}
        triangle, rectangle = [0], [0]
        for vertex in simple:
            higher = sum(order[other] > order[vertex] for other in simple[vertex])
            triangle.append(higher * (higher - 1) // 2)
            rectangle.append(triangle[-1] + higher * (simple.degree[vertex] - higher))
        wanted = (sum(triangle), sum(rectangle), max(triangle), max(rectangle))
        for parallelism in PARALLELISM:
            result = EdgeMetrics().outcome(run(EdgeMetrics(), seed, parallelism))
            assert wanted == (
                result.number_of_triangle_triplets,
                result.number_of_rectangle_triplets,
                result.maximum_triangle_triplets,
                result.maximum_rectangle_triplets,
            ), seed


def test_diameter() -> None:
    for seed in _graphs():
        simple = random_graph(seed).simple()
        if not len(simple):
            continue
        place = min(simple, key=lambda vertex: (-simple.degree[vertex], vertex))
        wanted, component = 0, simple.subgraph(nx.node_connected_component(simple, place))
        for _ in range(3):
            distances = nx.single_source_shortest_path_length(component, place)
            place = min(distances, key=lambda vertex: (-distances[vertex], vertex))
            wanted = max(wanted, distances[place])
        for parallelism in PARALLELISM:
            algorithm = Diameter(sweeps=3)
            assert algorithm.outcome(run(algorithm, seed, parallelism)) == wanted, seed
        diameter = nx.diameter(component)
        assert diameter <= 2 * wanted
        assert wanted == diameter if nx.is_tree(component) else wanted <= diameter


@pytest.mark.parametrize("directed", [False, True])
def test_the_neighbourhood_function_has_the_sketches_of_balls(directed: bool) -> None:
    """Each vertex' sketch is that of the vertices within a distance, whose ids give the hashes."""

    def expected(graph: RandomGraph) -> NeighborhoodFunctionResult:
        paths = graph.digraph() if directed else graph.simple()
        ids = sorted(graph.vertices)
        of_one = dict(zip(ids, sketches(np.arange(len(ids)), 5), strict=True))
        far = {vertex: nx.single_source_shortest_path_length(paths, vertex) for vertex in ids}
        last = max((max(lengths.values()) for lengths in far.values()), default=-1)
        pairs, before = [], None
        for distance in range(last + 1):
            unions = [
                np.max([of_one[v] for v, length in lengths.items() if length <= distance], axis=0)
                for lengths in far.values()
            ]
            if before is not None and np.array_equal(unions, before):
                break  # the sketches know of no vertex that is farther
            before = unions
            pairs.append(float(estimates(np.array(unions)).sum()))
        return NeighborhoodFunctionResult(tuple(pairs))

    check(
        lambda graph: NeighborhoodFunction(5, directed=directed),
        lambda graph: _Close(expected(graph)),
        _graphs(),
    )


class _Close:
    """Equal to results with about the same numbers."""

    def __init__(self, result: NeighborhoodFunctionResult) -> None:
        self._pairs = result.pairs

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NeighborhoodFunctionResult) and bool(
            other.pairs == pytest.approx(self._pairs)
        )

    __hash__ = None  # type: ignore[assignment]


def test_distances_of_a_large_graph_are_estimated_well() -> None:
    grid = nx.grid_2d_graph(20, 25)
    numbers = {node: number for number, node in enumerate(grid)}
    tables = graph_tables([(numbers[one], numbers[two]) for one, two in grid.edges])
    algorithm = NeighborhoodFunction(10)
    result = algorithm.outcome(run_local(algorithm.program, *tables, 2))
    assert result.pairs[0] == pytest.approx(500, rel=0.02)
    assert result.pairs[-1] == pytest.approx(500**2, rel=0.02)
    assert 35 <= result.diameter <= 43
    assert result.average_distance == pytest.approx(nx.average_shortest_path_length(grid), rel=0.03)
    lengths = sorted(
        length
        for _, lengths in nx.all_pairs_shortest_path_length(grid)
        for length in lengths.values()
    )
    within = lengths[int(0.9 * len(lengths))]
    assert within - 1.5 <= result.effective_diameter <= within + 0.5
    empty = algorithm.outcome(run_local(algorithm.program, *graph_tables([]), 2))
    assert (empty.pairs, empty.diameter) == ((), 0)
    assert isnan(empty.effective_diameter)
    assert isnan(empty.average_distance)
    limited = NeighborhoodFunction(4, max_iterations=3)
    assert len(limited.outcome(run_local(limited.program, *tables)).pairs) == 4
    with pytest.raises(JobDefinitionError, match="bits is 3: it must be from 4 to 12"):
        NeighborhoodFunction(3)


def _degrees(graph: RandomGraph) -> dict[Any, tuple[int, int, int]]:
    digraph, simple = graph.digraph(), graph.simple()
    return {
        vertex: (simple.degree[vertex], digraph.out_degree[vertex], digraph.in_degree[vertex])
        for vertex in graph.vertices
    }


def test_estimates_need_little_memory() -> None:
    """Many sketches are estimated as few at a time are."""
    registers = np.random.default_rng(7).integers(0, 9, (10_000, 1 << 12), np.uint8)
    tracemalloc.start()
    sizes = estimates(registers)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 5 * registers.nbytes
    assert np.array_equal(sizes[-5:], estimates(registers[-5:]))
    assert not len(estimates(registers[:0]))


def test_degrees() -> None:
    check(
        lambda graph: VertexDegrees(include_zero_degree_vertices=True),
        lambda graph: sorted((vertex, *counts) for vertex, counts in _degrees(graph).items()),
        _graphs(),
    )
    check(
        lambda graph: VertexDegrees(),
        lambda graph: sorted((v, *counts) for v, counts in _degrees(graph).items() if counts[0]),
        _graphs(),
    )


def test_degrees_of_the_ends_of_edges() -> None:
    def expected(graph: RandomGraph) -> list[Any]:
        degrees = _degrees(graph)
        return sorted(
            (source, target, *degrees[source], *degrees[target])
            for source, target, _ in graph.edges
        )

    check(lambda graph: EdgeDegreesPair(), expected, _graphs())
