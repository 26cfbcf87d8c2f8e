"""Iterations on graphs in this process, and a plain model of shortest paths."""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from millrace.common.types.type_information import BasicTypeInfo
from millrace.graph.column_type import NULL, ColumnType, column_type_of_arrow
from millrace.graph.elements import EdgeDirection
from millrace.graph.iterations.iteration_contexts import IterationDescription
from millrace.runtime.supersteps.local_run import run_local
from millrace.runtime.supersteps.superstep_program import SuperstepProgram

DOUBLE = ColumnType(BasicTypeInfo("DOUBLE"))
LONG = ColumnType(BasicTypeInfo("LONG"))


def iterate(
    program: Callable[[IterationDescription], SuperstepProgram],
    vertices: dict[Any, Any],
    edges: list[tuple[Any, ...]],
    parallelism: int = 1,
    max_iterations: int = 100,
    direction: EdgeDirection = EdgeDirection.OUT,
    values: ColumnType | None = None,
    **settings: Any,
) -> dict[Any, Any]:
    """Value of each vertex after an iteration."""
    ids = list(vertices)
    vertex_table = pa.table({"id": pa.array(ids), "value": pa.array(list(vertices.values()))})
    id_type = vertex_table.schema.field("id").type
    value_type = column_type_of_arrow(vertex_table.schema.field("value").type)
    if pa.types.is_null(value_type.arrow):
        vertex_table = vertex_table.drop_columns(["value"])  # as the job on Spark does
    columns = {
        "source": pa.array([edge[0] for edge in edges], id_type),
        "target": pa.array([edge[1] for edge in edges], id_type),
    }
    edge_type = NULL
    if edges and len(edges[0]) == 3:
        columns["value"] = pa.array([edge[2] for edge in edges])
        edge_type = column_type_of_arrow(columns["value"].type)
    description = IterationDescription(
        column_type_of_arrow(id_type),
        value_type,
        values or value_type,
        edge_type,
        max_iterations,
        direction,
        **settings,
    )
    edge_table = directed(pa.table(columns), direction)
    table = run_local(lambda: program(description), vertex_table, edge_table, parallelism)
    decoded = (values or value_type).decode(
        table["value"].combine_chunks().cast(description.values.arrow)
    )
    return dict(zip(table["id"].to_pylist(), decoded, strict=True))


def directed(edges: pa.Table, direction: EdgeDirection) -> pa.Table:
    """The edges in the form that `edges_in_direction` of the spark room makes."""
    if direction == EdgeDirection.OUT:
        return edges
    reverse = {"source": edges["target"], "target": edges["source"]}
    if direction == EdgeDirection.IN:
        return pa.table({**reverse, **{n: edges[n] for n in edges.column_names[2:]}})
    parts = []
    for ends, backwards in (({n: edges[n] for n in ("source", "target")}, False), (reverse, True)):
        fields = {n: edges[n].combine_chunks() for n in edges.column_names[2:]}
        fields["backwards"] = pa.array(np.full(edges.num_rows, backwards))
        value = pa.StructArray.from_arrays(list(fields.values()), list(fields))
        parts.append(pa.table({**ends, "value": value}))
    return pa.concat_tables(parts)


def weighted_graph(seed: int) -> tuple[dict[int, float], list[tuple[int, int, float]]]:
    """Vertices with infinite distances, and edges with lengths: self loops, parallel edges and
    isolated vertices among them."""
    rng = random.Random(seed)
    count = rng.choice([1, 3, 10, 40])
    ids = list(range(count))
    edges = [
        (rng.choice(ids), rng.choice(ids), float(rng.randint(1, 9)))
        for _ in range(rng.randrange(3 * count))
    ]
    return dict.fromkeys(ids, float("inf")), edges


def distances(
    vertices: dict[int, float], edges: list[tuple[int, int, float]], source: int
) -> dict[int, float]:
    """Distance of each vertex from the source, by Dijkstra's algorithm."""
    found = dict(vertices)
    waiting = [(0.0, source)]
    while waiting:
        distance, vertex = heapq.heappop(waiting)
        if distance < found[vertex]:
            found[vertex] = distance
            for start, end, length in edges:
                if start == vertex:
                    heapq.heappush(waiting, (distance + length, end))
    return found


def reversed_edges(edges: list[tuple[int, int, float]]) -> list[tuple[int, int, float]]:
    return [(target, source, length) for source, target, length in edges]


def assert_shortest_paths(
    parallelism: int,
    direction: EdgeDirection,
    *programs: Callable[[IterationDescription], SuperstepProgram],
) -> None:
    """Compare programs of shortest paths from vertex 0 with the model, on drawn graphs."""
    for seed in range(20):
        vertices, edges = weighted_graph(seed)
        edges = edges or [(0, 0, 1.0)]
        ways = {
            EdgeDirection.OUT: edges,
            EdgeDirection.IN: reversed_edges(edges),
            EdgeDirection.ALL: edges + reversed_edges(edges),
        }
        expected = distances(vertices, ways[direction], 0)
        vertices[0] = 0.0
        found = [
            iterate(made, vertices, edges, parallelism, direction=direction) for made in programs
        ]
        assert found == [expected] * len(programs), seed
