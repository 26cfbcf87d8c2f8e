"""Streams of edges as graphs; the results are kept up to date."""

from millrace.graph.elements import EdgeDirection
from millrace.graph.streams.edge_columns import added, removed
from millrace.graph.streams.edge_windows import EdgeWindows
from millrace.graph.streams.graph_stream import GraphStream

__all__ = ["EdgeDirection", "EdgeWindows", "GraphStream", "added", "removed"]
