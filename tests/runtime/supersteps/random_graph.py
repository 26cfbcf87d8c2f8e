"""Random graphs with everything that graphs may have, and a plain model of their components."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa

from millrace.runtime.supersteps.local_run import graph_tables

Edges = list[tuple[Any, Any]]


def random_graph(seed: int) -> tuple[list[Any], Edges]:
    """Vertices and edges: with self loops, parallel edges, isolated vertices, text ids."""
    rng = random.Random(seed)
    count = rng.choice([1, 2, 5, 20, 60])
    ids: list[Any] = rng.sample(range(-1000, 1000), count)
    if seed % 3 == 0:
        ids = [f"vertex {number}" for number in ids]
    edges = [(rng.choice(ids), rng.choice(ids)) for _ in range(rng.randrange(2 * count))]
    return ids, edges


def both_ways(edges: Edges) -> Edges:
    return [*edges, *((target, source) for source, target in edges)]


def tables_of(ids: list[Any], edges: Edges) -> tuple[Any, Any]:
    return graph_tables(edges, ids)


def components_of(ids: list[Any], edges: Edges) -> set[frozenset[Any]]:
    """Components by a plain union of sets."""
    component = {vertex: {vertex} for vertex in ids}
    for source, target in edges:
        if component[source] is not component[target]:
            merged = component[source] | component[target]
            for vertex in merged:
                component[vertex] = merged
    return {frozenset(members) for members in component.values()}


def components_in(table: pa.Table) -> set[frozenset[Any]]:
    """Components of a result with columns ``id`` and ``component``."""
    members: dict[Any, set[Any]] = {}
    for vertex, label in zip(table["id"].to_pylist(), table["component"].to_pylist(), strict=True):
        members.setdefault(label, set()).add(vertex)
    return {frozenset(found) for found in members.values()}
