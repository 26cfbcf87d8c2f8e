"""Vertex-centric iterations: a function of a vertex and the messages that it has received.

Flink docs: Gelly, "Vertex-Centric Iterations".
"""

from __future__ import annotations

from millrace.graph.iterations.message_iterator import MessageIterator
from millrace.graph.pregel.batch_compute_function import BatchComputeFunction
from millrace.graph.pregel.compute_function import ComputeFunction
from millrace.graph.pregel.message_combiner import MessageCombiner
from millrace.graph.pregel.vertex_centric_configuration import VertexCentricConfiguration

__all__ = [
    "BatchComputeFunction",
    "ComputeFunction",
    "MessageCombiner",
    "MessageIterator",
    "VertexCentricConfiguration",
]
