"""Algorithms of Gelly's library, run by ``graph.run``."""

from __future__ import annotations

from millrace.graph.library.clustering import (
    AverageClusteringCoefficient,
    AverageClusteringCoefficientResult,
    GlobalClusteringCoefficient,
    GlobalClusteringCoefficientResult,
    LocalClusteringCoefficient,
)
from millrace.graph.library.community_detection import CommunityDetection
from millrace.graph.library.connected_components import (
    ConnectedComponents,
    GSAConnectedComponents,
    VertexCentricConnectedComponents,
)
from millrace.graph.library.degrees import EdgeDegreesPair, VertexDegrees
from millrace.graph.library.diameter import Diameter
from millrace.graph.library.hits import HITS
from millrace.graph.library.label_propagation import LabelPropagation
from millrace.graph.library.maximum_degree import MaximumDegree
from millrace.graph.library.metrics import (
    EdgeMetrics,
    EdgeMetricsResult,
    TriadicCensus,
    VertexMetrics,
    VertexMetricsResult,
)
from millrace.graph.library.neighborhood_function import (
    NeighborhoodFunction,
    NeighborhoodFunctionResult,
)
from millrace.graph.library.page_rank import PageRank, WeightedPageRank
from millrace.graph.library.shortest_paths import (
    GSASingleSourceShortestPaths,
    SingleSourceShortestPaths,
)
from millrace.graph.library.similarity import AdamicAdar, JaccardIndex
from millrace.graph.library.summarization import Summarization
from millrace.graph.library.triangles import TriangleCount, TriangleEnumerator, TriangleListing

__all__ = [
    "AdamicAdar",
    "AverageClusteringCoefficient",
    "AverageClusteringCoefficientResult",
    "CommunityDetection",
    "ConnectedComponents",
    "Diameter",
    "EdgeDegreesPair",
    "EdgeMetrics",
    "EdgeMetricsResult",
    "GSAConnectedComponents",
    "GSASingleSourceShortestPaths",
    "GlobalClusteringCoefficient",
    "GlobalClusteringCoefficientResult",
    "HITS",
    "JaccardIndex",
    "LabelPropagation",
    "LocalClusteringCoefficient",
    "MaximumDegree",
    "NeighborhoodFunction",
    "NeighborhoodFunctionResult",
    "PageRank",
    "SingleSourceShortestPaths",
    "Summarization",
    "TriadicCensus",
    "TriangleCount",
    "TriangleEnumerator",
    "TriangleListing",
    "VertexCentricConnectedComponents",
    "VertexDegrees",
    "VertexMetrics",
    "VertexMetricsResult",
    "WeightedPageRank",
]
