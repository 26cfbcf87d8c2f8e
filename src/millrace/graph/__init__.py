"""Graphs: bounded graphs with the methods of Gelly, computed by Spark.

Semantics: Flink docs, "Gelly: Flink Graph API".
"""

from __future__ import annotations

from millrace.graph.csv_input import GraphCsvFormat
from millrace.graph.data_set import DataSet
from millrace.graph.elements import Edge, EdgeDirection, Triplet, Vertex
from millrace.graph.functions import (
    EdgeJoinFunction,
    EdgesFunction,
    EdgesFunctionWithVertexValue,
    GraphAlgorithm,
    NeighborsFunction,
    NeighborsFunctionWithVertexValue,
    ReduceEdgesFunction,
    ReduceNeighborsFunction,
    VertexJoinFunction,
)
from millrace.graph.graph import Graph
from millrace.graph.validation import GraphValidator, InvalidVertexIdsValidator

__all__ = [
    "DataSet",
    "Edge",
    "EdgeDirection",
    "EdgeJoinFunction",
    "EdgesFunction",
    "EdgesFunctionWithVertexValue",
    "Graph",
    "GraphAlgorithm",
    "GraphCsvFormat",
    "GraphValidator",
    "InvalidVertexIdsValidator",
    "NeighborsFunction",
    "NeighborsFunctionWithVertexValue",
    "ReduceEdgesFunction",
    "ReduceNeighborsFunction",
    "Triplet",
    "Vertex",
    "VertexJoinFunction",
]
