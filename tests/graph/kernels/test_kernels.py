"""Blocks of the kernels that random graphs are too small for: labels in ranges, triangles in
parts, pairs in rounds."""

from __future__ import annotations

import math
import random
from itertools import combinations, pairwise
from typing import Any

import networkx as nx
import numpy as np
import pyarrow as pa
import pytest

from millrace.common.errors import JobDefinitionError, JobExecutionError
from millrace.graph.kernels import components as component_kernels
from millrace.graph.kernels import triangles
from millrace.graph.kernels.components import components, spanning_stars
from millrace.graph.kernels.labels import OrderedLabels
from millrace.graph.kernels.segments import first_of_greatest
from millrace.graph.library import similarity
from millrace.graph.library.community_detection import CommunityDetection
from millrace.graph.library.connected_components import ConnectedComponents
from millrace.graph.library.hits import HITS
from millrace.graph.library.page_rank import PageRank, WeightedPageRank
from millrace.graph.library.shortest_paths import SingleSourceShortestPaths
from millrace.graph.library.similarity import AdamicAdar, JaccardIndex
from millrace.graph.library.triangles import TriangleListing
from millrace.runtime.supersteps.graph_exchange import GraphExchange, TaskExchange
from millrace.runtime.supersteps.local_run import (
    LocalTransport,
    graph_tables,
    local_partition,
    run_local,
    run_tasks,
)
from millrace.runtime.supersteps.superstep_loop import result_table, run_supersteps
from millrace.state.columns.multi_index import ranges


def test_segments() -> None:
    assert ranges(np.array([7, 0, 3]), np.array([0, 2, 1])).tolist() == [0, 1, 3]
    assert ranges(np.array([], dtype=np.int64), np.array([], dtype=np.int64)).tolist() == []
    keys, sizes, labels = first_of_greatest(
        np.array([1, 1, 1, 4]), np.array([2, 2, 1, 1]), np.array([5, 9, 30, 0])
    )
    assert (keys.tolist(), sizes.tolist(), labels.tolist()) == ([1, 4], [2, 1], [9, 0])


def test_components_of_a_long_path_in_any_order() -> None:
    order = np.random.default_rng(5).permutation(1000)
    found = components(1002, order[:-1], order[1:])
    assert len(set(found[:1000])) == 1
    assert sorted(set(found.tolist())) == [0, 1, 2]


@pytest.mark.parametrize("parallelism", [2, 3])
def test_components_of_a_large_diameter_need_few_supersteps(parallelism: int) -> None:
    """The path crosses from task to task thousands of times."""
    order = np.random.default_rng(6).permutation(20_000).tolist()
    far = [(one + 100_000, two + 100_000) for one, two in pairwise(order[:50])]
    tables = graph_tables([*pairwise(order), *far])
    numbers: list[int] = []

    def task(transport: Any) -> Any:
        partition = local_partition(transport, *tables)
        program = ConnectedComponents(1000).program()
        exchange = GraphExchange(transport, partition)
        numbers.append(run_supersteps(program, partition, exchange))
        return result_table(program)

    table = pa.concat_tables(run_tasks(task, LocalTransport.of_tasks(parallelism)))
    found = dict(zip(table["id"].to_pylist(), table["value"].to_pylist(), strict=True))
    least = 100_000 + min(order[:50])
    assert set(found.values()) == {0, least}
    assert all((value == least) == (vertex >= 100_000) for vertex, value in found.items())
    assert numbers[0] < 30


def test_a_limit_of_iterations_holds_for_large_diameters() -> None:
    """After each number of iterations, values are at least as far as those of Gelly."""
    length = 60
    order = np.random.default_rng(7).permutation(length).tolist()
    tables = graph_tables([*pairwise(order)])
    for limit in (1, 5, 8, 12, 20):
        table = run_local(lambda limit=limit: ConnectedComponents(limit).program(), *tables, 3)
        found = dict(zip(table["id"].to_pylist(), table["value"].to_pylist(), strict=True))
        for place, vertex in enumerate(order):
            near = order[max(place - limit, 0) : place + limit + 1]
            assert 0 <= found[vertex] <= min(near)


@pytest.mark.parametrize("seed", range(5))
def test_stars_have_the_components_of_the_edges(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(component_kernels, "_AT_ONCE", 7)
    dice = np.random.default_rng(seed)
    ends = dice.integers(0, 40, (2, 30))
    edges = pa.record_batch(
        {
            "owner": pa.array(ends[0] % 3, pa.int32()),
            "source": pa.array(ends[0]),
            "target": pa.array(ends[1]),
            "target_owner": pa.array(ends[1] % 3, pa.int32()),
        }
    )
    batches = [edges.slice(start, 4) for start in range(0, 30, 4)]
    [stars] = spanning_stars(batches)
    assert sorted(stars["source"].to_pylist()) == sorted(set(ends.reshape(-1).tolist()))
    for end, owner in (("source", "owner"), ("target", "target_owner")):
        assert np.array_equal(stars[end].to_numpy() % 3, stars[owner].to_numpy())
    graphs = [nx.Graph(zip(*ends.tolist(), strict=True))]
    graphs.append(nx.Graph(zip(*(stars[c].to_pylist() for c in ("source", "target")), strict=True)))
    before, after = ({*map(frozenset, nx.connected_components(graph))} for graph in graphs)
    assert before == after
    nulls = edges.set_column(1, "source", pa.nulls(30, pa.int64()))
    assert [*spanning_stars([nulls])] == [nulls]


@pytest.mark.parametrize("parallelism", [1, 2, 3])
@pytest.mark.parametrize(
    "labels", [["pear", "fig", "é", "kiwi", ""], [-5, 2**40, 0, 7], [2.5, -1.0]]
)
def test_labels_have_ranks_in_their_order(parallelism: int, labels: list[Any]) -> None:
    rng = random.Random(3)
    of_tasks = [rng.choices(labels, k=4) for _ in range(parallelism - 1)] + [[labels[0]]]
    distinct = sorted({label for of_task in of_tasks for label in of_task})

    def task(transport: Any) -> tuple[list[int], list[Any]]:
        column = pa.array(of_tasks[transport.index])
        ordered = OrderedLabels(column, TaskExchange(transport), "labels")
        every_rank = np.arange(len(distinct))[::-1]
        return ordered.ranks.tolist(), ordered.decoded(every_rank).to_pylist()

    results = run_tasks(task, LocalTransport.of_tasks(parallelism))
    for of_task, (ranks, decoded) in zip(of_tasks, results, strict=True):
        assert [distinct[rank] for rank in ranks] == of_task
        assert decoded == distinct[::-1]


@pytest.mark.parametrize("parallelism", [1, 2, 3, 4])
def test_nan_is_the_greatest_label(parallelism: int) -> None:
    nan = math.nan
    of_tasks = [[nan, float(task), nan, 0.5, nan] for task in range(parallelism)]

    def task(transport: Any) -> tuple[list[int], list[Any]]:
        column = pa.array(of_tasks[transport.index])
        ordered = OrderedLabels(column, TaskExchange(transport), "labels")
        return ordered.ranks.tolist(), ordered.decoded(ordered.ranks).to_pylist()

    distinct = sorted({0.5, *map(float, range(parallelism))})
    results = run_tasks(task, LocalTransport.of_tasks(parallelism))
    for number, (ranks, decoded) in enumerate(results):
        wanted = [len(distinct), distinct.index(number), len(distinct), distinct.index(0.5)]
        assert ranks == [*wanted, len(distinct)]
        assert repr(decoded) == repr(of_tasks[number])


def test_labels_without_an_order_are_refused() -> None:
    (transport,) = LocalTransport.of_tasks(1)
    for column, reason in (
        (pa.array([1, None]), "one of them is None: replace it first"),
        (pa.array([{"a": 1}]), "have no order: map them to numbers or texts first"),
    ):
        with pytest.raises(JobDefinitionError, match=reason):
            OrderedLabels(column, TaskExchange(transport), "values of vertices")


@pytest.fixture
def dense_graph() -> tuple[Any, Any, list[tuple[int, int]]]:
    rng = random.Random(11)
    pairs = [pair for pair in combinations(range(60), 2) if rng.random() < 0.4]
    return *graph_tables(pairs, range(60)), pairs


@pytest.mark.parametrize("parallelism", [1, 3])
def test_triangles_in_many_small_parts(
    monkeypatch: pytest.MonkeyPatch, dense_graph: Any, parallelism: int
) -> None:
    monkeypatch.setattr(triangles, "PART", 20)
    monkeypatch.setattr(triangles, "MARKS", 150)
    monkeypatch.setattr(triangles, "CANDIDATES", 7)
    vertices, edges, pairs = dense_graph
    algorithm = TriangleListing(sort_triangle_vertices=True)
    table = run_local(algorithm.program, vertices, edges, parallelism)
    rows = sorted(zip(*(column.to_pylist() for column in table.columns), strict=True))
    known = set(pairs)
    assert rows == [
        triple for triple in combinations(range(60), 3) if known.issuperset(combinations(triple, 2))
    ]


@pytest.mark.parametrize("parallelism", [1, 3])
def test_pairs_in_many_rounds(
    monkeypatch: pytest.MonkeyPatch, dense_graph: Any, parallelism: int
) -> None:
    vertices, edges, _ = dense_graph
    at_once = run_local(JaccardIndex().program, vertices, edges, 1)
    monkeypatch.setattr(similarity, "PAIRS", 50)
    in_rounds = run_local(JaccardIndex().program, vertices, edges, parallelism)
    keys = [("vertex_id_0", "ascending"), ("vertex_id_1", "ascending")]
    assert in_rounds.sort_by(keys).equals(at_once.sort_by(keys))


NAN, INF = math.nan, math.inf


@pytest.mark.parametrize("parallelism", [1, 2, 3])
@pytest.mark.parametrize(
    ("algorithm", "refused"),
    [
        (SingleSourceShortestPaths(1, 9), [NAN, -INF]),
        (HITS(9, weighted=True), [NAN, INF]),
        (CommunityDetection(9), [NAN, INF]),
        (PageRank(0.85, 9, weighted=True), [NAN, INF, -1.0]),
        (WeightedPageRank(0.85, 9), [NAN, INF, -1.0]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_values_of_edges_that_cannot_be_added_up_are_refused(
    algorithm: Any, refused: list[float], parallelism: int
) -> None:
    vertices = pa.table({"id": [1, 2, 3]})
    for value in refused:
        edges = pa.table({"source": [1, 1, 2], "target": [2, 3, 1], "value": [1.0, 1.0, value]})
        reason = f"{type(algorithm).__name__} cannot work with the value {value} of the edge from 2"
        with pytest.raises(JobDefinitionError, match=reason):
            run_local(algorithm.program, vertices, edges, parallelism)


def test_an_edge_of_infinite_length_is_no_path() -> None:
    vertices = pa.table({"id": [1, 2, 3]})
    edges = pa.table({"source": [1, 1], "target": [2, 3], "value": [INF, -2.0]})
    result = run_local(SingleSourceShortestPaths(1, 9).program, vertices, edges)
    assert dict(zip(*result.to_pydict().values(), strict=True)) == {1: 0.0, 2: INF, 3: -2.0}


@pytest.mark.parametrize("source", [2**70, "x", [1], 1.5, {"a": 1}])
def test_a_source_that_cannot_be_an_id(source: Any) -> None:
    tables = pa.table({"id": [1, 2]}), pa.table({"source": [1], "target": [2]})
    with pytest.raises(JobExecutionError, match="no vertex has the id"):
        run_local(SingleSourceShortestPaths(source, 9).program, *tables)


@pytest.mark.parametrize("algorithm", [JaccardIndex(), AdamicAdar()])
def test_pairs_of_no_vertices(algorithm: Any) -> None:
    nothing = pa.array([], pa.null())
    empty = pa.table({"id": nothing}), pa.table({"source": nothing, "target": nothing})
    assert run_local(algorithm.program, *empty, 2).num_rows == 0
