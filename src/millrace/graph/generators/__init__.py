"""Generators of graphs. Flink docs: Gelly, "Graph Generators"."""

from __future__ import annotations

from millrace.graph.generators.edge_blocks import GraphGenerator
from millrace.graph.generators.r_mat import RMatGraph
from millrace.graph.generators.regular_graphs import (
    CirculantGraph,
    CompleteGraph,
    CycleGraph,
    EchoGraph,
    EmptyGraph,
    GridGraph,
    HypercubeGraph,
    PathGraph,
    SingletonEdgeGraph,
    StarGraph,
)

__all__ = [
    "CirculantGraph",
    "CompleteGraph",
    "CycleGraph",
    "EchoGraph",
    "EmptyGraph",
    "GraphGenerator",
    "GridGraph",
    "HypercubeGraph",
    "PathGraph",
    "RMatGraph",
    "SingletonEdgeGraph",
    "StarGraph",
]
