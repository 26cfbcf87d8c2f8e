"""Bipartite graphs. Flink docs: Gelly, "Bipartite Graph"."""

from __future__ import annotations

from millrace.graph.bipartite.bipartite_graph import BipartiteEdge, BipartiteGraph, Projection

__all__ = ["BipartiteEdge", "BipartiteGraph", "Projection"]
