"""Graphs: bounded graphs with the methods of Gelly, computed by Spark.

Semantics: Flink docs, "Gelly: Flink Graph API".
"""

from __future__ import annotations

from millrace.graph.data_set import DataSet
from millrace.graph.elements import Edge, EdgeDirection, Triplet, Vertex
from millrace.graph.graph import Graph

__all__ = ["DataSet", "Edge", "EdgeDirection", "Graph", "Triplet", "Vertex"]
